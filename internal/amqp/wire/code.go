// Package wire is the codec of AMQP 1.0: values, frames, and the performatives that the client
// and the tests' broker exchange. Each performative can read what it appends. What each
// message needs is read and appended without allocating. Parts and sections in comments are
// those of the OASIS standard AMQP 1.0.
package wire

// Constructors of encoded values (AMQP 1.0 part 1, section 1.6). The high nibble encodes the
// length of a value: see decoder.value.
const (
	codeDescribed  = 0x00
	CodeNull       = 0x40
	CodeTrue       = 0x41
	CodeFalse      = 0x42
	codeUint0      = 0x43
	codeUlong0     = 0x44
	codeList0      = 0x45
	codeUbyte      = 0x50
	CodeByte       = 0x51
	codeSmallUint  = 0x52
	CodeSmallUlong = 0x53
	codeSmallInt   = 0x54
	codeSmallLong  = 0x55
	codeBool       = 0x56
	codeUshort     = 0x60
	codeShort      = 0x61
	CodeUint       = 0x70
	codeInt        = 0x71
	codeUlong      = 0x80
	CodeLong       = 0x81
	CodeTimestamp  = 0x83
	CodeBin8       = 0xa0
	codeStr8       = 0xa1
	codeSym8       = 0xa3
	CodeBin32      = 0xb0
	CodeStr32      = 0xb1
	CodeSym32      = 0xb3
	CodeList8      = 0xc0
	codeMap8       = 0xc1
	codeList32     = 0xd0
	CodeMap32      = 0xd1
	codeArray8     = 0xe0
	codeArray32    = 0xf0
)

// Descriptors (parts 2, 3, 4 and 5): the types of described values.
const (
	IsOpen        = 0x10
	IsBegin       = 0x11
	IsAttach      = 0x12
	IsFlow        = 0x13
	IsTransfer    = 0x14
	IsDisposition = 0x15
	IsDetach      = 0x16
	IsEnd         = 0x17
	IsClose       = 0x18

	isError         = 0x1d
	IsReceived      = 0x23
	IsAccepted      = 0x24
	IsRejected      = 0x25
	IsReleased      = 0x26
	IsModified      = 0x27
	isSource        = 0x28
	isTarget        = 0x29
	isCoordinator   = 0x30
	IsDeclare       = 0x31
	IsDischarge     = 0x32
	IsDeclared      = 0x33
	IsTransactional = 0x34

	IsMechanisms = 0x40
	IsInit       = 0x41
	IsOutcome    = 0x44

	IsHeader      = 0x70
	IsAnnotations = 0x72 // message annotations; 0x71 is delivery annotations
	IsProperties  = 0x73
	IsApplication = 0x74
	IsData        = 0x75
	IsSequence    = 0x76
	IsValue       = 0x77

	isSelector = 0x0000468C00000004 // apache.org:selector-filter:string
)
