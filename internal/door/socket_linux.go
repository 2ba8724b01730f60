package door

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// askTime is how long the kernel may take for an answer; it answers within a system call.
const askTime = time.Second

// A request is a netlink header, inet_diag_req_v2 and in it inet_diag_sockid, which begins at sockID. An
// answer is a header and inet_diag_msg. See linux/inet_diag.h.
const (
	headerLength = 16
	sockID       = headerLength + 8 // of a request
	idLength     = 48
	requestSize  = sockID + idLength
	answerID     = headerLength + 4
	answerPeer   = answerID + 2             // port of the other end
	answerUser   = answerID + idLength + 12 // behind expires, rqueue and wqueue
	answerInode  = answerUser + 4
	answerSize   = answerInode + 4
)

// here finds a socket of this network namespace: by asking the kernel for this one, or in the tables.
// The tables have every socket of the machine, which a crowd of clients makes long.
func here(from, to netip.AddrPort) (socket, bool, error) {
	s, err := ask(from, to)
	if errors.Is(err, syscall.ENOENT) {
		// So says a kernel without this question, too. It knows takt's own end, if it knows any.
		if _, own := ask(to, from); own == nil {
			return socket{}, false, nil
		}
	}
	if err != nil {
		return inTables(os.DirFS(self))(from, to)
	}
	return s, true, nil
}

// ask asks the kernel for the TCP socket from one address to the other. The error is ENOENT if there is none.
func ask(from, to netip.AddrPort) (socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return socket{}, err
	}
	defer unix.Close(fd)
	limit := unix.NsecToTimeval(int64(askTime))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		return socket{}, err
	}
	if err := unix.Sendto(fd, question(from, to), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return socket{}, err
	}
	var b [4096]byte
	n, _, err := unix.Recvfrom(fd, b[:], 0)
	if err != nil {
		return socket{}, err
	}
	return answer(b[:n], to)
}

func question(from, to netip.AddrPort) []byte {
	b := make([]byte, requestSize)
	native := binary.NativeEndian
	native.PutUint32(b, requestSize)
	native.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	native.PutUint16(b[6:], unix.NLM_F_REQUEST)
	b[headerLength], b[headerLength+1] = unix.AF_INET, unix.IPPROTO_TCP
	native.PutUint32(b[headerLength+4:], ^uint32(0)) // in every state
	id := b[sockID:]
	binary.BigEndian.PutUint16(id, from.Port())
	binary.BigEndian.PutUint16(id[2:], to.Port())
	source, destination := from.Addr().Unmap(), to.Addr().Unmap()
	if source.Is6() {
		b[headerLength] = unix.AF_INET6
	}
	copy(id[4:20], source.AsSlice())
	copy(id[20:36], destination.AsSlice())
	native.PutUint64(id[40:], ^uint64(0)) // no cookie
	return b
}

// answer reads the kernel's answer. Where there is no such socket, the kernel gives the one that listens.
func answer(b []byte, to netip.AddrPort) (socket, error) {
	native := binary.NativeEndian
	switch {
	case len(b) >= headerLength+4 && native.Uint16(b[4:]) == unix.NLMSG_ERROR:
		return socket{}, syscall.Errno(-int32(native.Uint32(b[headerLength:])))
	case len(b) < answerSize || native.Uint16(b[4:]) != unix.SOCK_DIAG_BY_FAMILY:
		return socket{}, errors.New("the kernel gave no answer about a socket")
	case binary.BigEndian.Uint16(b[answerPeer:]) != to.Port():
		return socket{}, syscall.ENOENT
	}
	number := func(at int) string { return strconv.FormatUint(uint64(native.Uint32(b[at:])), 10) }
	return socket{user: number(answerUser), inode: number(answerInode)}, nil
}
