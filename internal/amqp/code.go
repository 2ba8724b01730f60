package amqp

// Constructors of encoded values (AMQP 1.0 part 1, section 1.6). The high nibble encodes the
// length of a value: see decoder.value.
const (
	codeDescribed  = 0x00
	codeNull       = 0x40
	codeTrue       = 0x41
	codeFalse      = 0x42
	codeUint0      = 0x43
	codeUlong0     = 0x44
	codeList0      = 0x45
	codeUbyte      = 0x50
	codeByte       = 0x51
	codeSmallUint  = 0x52
	codeSmallUlong = 0x53
	codeSmallInt   = 0x54
	codeSmallLong  = 0x55
	codeBool       = 0x56
	codeUshort     = 0x60
	codeShort      = 0x61
	codeUint       = 0x70
	codeInt        = 0x71
	codeFloat      = 0x72
	codeUlong      = 0x80
	codeLong       = 0x81
	codeDouble     = 0x82
	codeTimestamp  = 0x83
	codeBin8       = 0xa0
	codeStr8       = 0xa1
	codeSym8       = 0xa3
	codeBin32      = 0xb0
	codeStr32      = 0xb1
	codeSym32      = 0xb3
	codeList8      = 0xc0
	codeMap8       = 0xc1
	codeList32     = 0xd0
	codeMap32      = 0xd1
	codeArray8     = 0xe0
	codeArray32    = 0xf0
)

// Descriptors (parts 2, 3, 4 and 5): the types of described values.
const (
	isOpen        = 0x10
	isBegin       = 0x11
	isAttach      = 0x12
	isFlow        = 0x13
	isTransfer    = 0x14
	isDisposition = 0x15
	isDetach      = 0x16
	isEnd         = 0x17
	isClose       = 0x18

	isError         = 0x1d
	isReceived      = 0x23
	isAccepted      = 0x24
	isRejected      = 0x25
	isReleased      = 0x26
	isModified      = 0x27
	isSource        = 0x28
	isTarget        = 0x29
	isCoordinator   = 0x30
	isDeclare       = 0x31
	isDischarge     = 0x32
	isDeclared      = 0x33
	isTransactional = 0x34

	isMechanisms = 0x40
	isInit       = 0x41
	isOutcome    = 0x44

	isHeader      = 0x70
	isAnnotations = 0x72 // message annotations; 0x71 is delivery annotations
	isProperties  = 0x73
	isApplication = 0x74
	isData        = 0x75
	isSequence    = 0x76
	isValue       = 0x77
	isFooter      = 0x78

	isSelector = 0x0000468C00000004 // apache.org:selector-filter:string
)
