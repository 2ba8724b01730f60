package cluster

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/internal/kafka"
	"github.com/taktload/takt/internal/permanent"
)

// The classes of failed records; docs/kafka.md explains them. Any other refusal by the broker
// has Kafka's own name as its class, in lower case.
const (
	classNotLeader    = "not_leader"
	classTimeout      = "timeout"
	ClassTooLarge     = "too_large"
	ClassUnknownTopic = "unknown_topic"
	ClassAuth         = "auth"
	classReplicas     = "not_enough_replicas"
	classRefused      = "refused"
	classConnection   = "connection"
	classBufferFull   = "buffer_full"
	classTransaction  = "transaction"
	ClassLost         = "lost"
	ClassNotStored    = "not_stored"
	classClosed       = "closed"
	classOther        = "client"
)

// brokerClass is takt's class for a broker's error code, if it has one.
func brokerClass(e *kerr.Error) string {
	switch e {
	case kerr.NotLeaderForPartition, kerr.LeaderNotAvailable, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.KafkaStorageError:
		return classNotLeader
	case kerr.RequestTimedOut,
		kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable: // a broker that has just started has no producer id yet
		return classTimeout
	case kerr.MessageTooLarge, kerr.RecordListTooLarge:
		return ClassTooLarge
	case kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.InvalidTopicException:
		return ClassUnknownTopic
	case kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.GroupAuthorizationFailed,
		kerr.TransactionalIDAuthorizationFailed, kerr.SaslAuthenticationFailed:
		return ClassAuth
	case kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend:
		return classReplicas
	case kerr.InvalidTxnState, kerr.TransactionAbortable, kerr.ProducerFenced, kerr.InvalidProducerEpoch, kerr.InvalidProducerIDMapping:
		return classTransaction
	}
	return strings.ToLower(e.Message)
}

// breakerOpen is sarama's error while it does not reconnect after a recent failure. The
// error's type is in a dependency of sarama.
const breakerOpen = "circuit breaker is open"

// inKafkasWords is a broker's error if err is one of sarama's, else err.
func inKafkasWords(err error) error {
	var code sarama.KError
	if errors.As(err, &code) {
		return kerr.ErrorForCode(int16(code))
	}
	return err
}

// Unsent reports whether a library refused a record before it sent the record. No other error of a
// library says that no broker has the record: sarama sends records again, and the last answer says
// nothing of the tries before; franz-go fails all records of a partition with the refusal of one
// batch, also those that the broker accepts meanwhile.
func Unsent(err error) bool {
	return errors.Is(err, kgo.ErrMaxBuffered) || isTooLarge(err)
}

// isTooLarge reports whether sarama refused a record for its size, which it checks before it sends.
func isTooLarge(err error) bool {
	var config sarama.ConfigurationError
	return errors.As(err, &config) && strings.Contains(string(config), "larger than")
}

// Classify is the class of an error of either client.
func Classify(err error) string {
	err = inKafkasWords(err)
	var broker *kerr.Error
	var wait net.Error
	var transaction *TransactionError
	switch {
	case errors.As(err, &transaction):
		return classTransaction
	case errors.As(err, &broker):
		return brokerClass(broker)
	case isTooLarge(err):
		return ClassTooLarge
	case errors.Is(err, kgo.ErrMaxBuffered), errors.Is(err, sarama.ErrProducerRetryBufferOverflow):
		return classBufferFull
	case errors.Is(err, kgo.ErrClientClosed), errors.Is(err, sarama.ErrClosedClient), errors.Is(err, sarama.ErrShuttingDown):
		return classClosed
	case errors.Is(err, kafka.ErrTooLate), errors.Is(err, kgo.ErrRecordTimeout), errors.Is(err, kgo.ErrRecordRetries), errors.Is(err, context.DeadlineExceeded):
		return classTimeout
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, sarama.ErrOutOfBrokers), err != nil && err.Error() == breakerOpen:
		return classRefused
	case errors.As(err, &wait) && wait.Timeout():
		return classTimeout
	case wait != nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, sarama.ErrNotConnected):
		return classConnection
	}
	return classOther
}

// Unreachable reports whether a record failed because its partition accepted no records, and not
// because of the record.
func Unreachable(err error) bool {
	switch Classify(err) {
	case classTimeout, classNotLeader, classReplicas, classRefused, classConnection:
		return true
	}
	return false
}

// PartitionName is a partition's name in the outages of a report. topic is "" if there is only one.
func PartitionName(topic string, n int32) string {
	return strings.TrimPrefix(topic+" partition "+strconv.Itoa(int(n)), " ")
}

// Lasts reports whether err is permanent for a consumer.
func Lasts(err error) bool {
	class := Classify(err)
	return class == ClassAuth || class == classClosed || isUnfit(err) || permanent.Is(err)
}

// isUnfit reports whether a group refuses a member for its settings.
func isUnfit(err error) bool {
	return errors.Is(err, kerr.InvalidSessionTimeout) || errors.Is(err, kerr.InconsistentGroupProtocol) ||
		errors.Is(err, kerr.UnsupportedAssignor) || errors.Is(err, kerr.InvalidGroupID)
}

// TransactionError is the error of acknowledged records of a failed transaction.
type TransactionError struct{ Cause error }

func (e *TransactionError) Error() string { return "the transaction failed: " + e.Cause.Error() }
func (e *TransactionError) Unwrap() error { return e.Cause }
