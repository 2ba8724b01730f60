import java.util.Collections;
import javax.jms.BytesMessage;
import javax.jms.Connection;
import javax.jms.ConnectionFactory;
import javax.jms.DeliveryMode;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Session;
import javax.jms.TextMessage;

/** A JMS client for the tests: Peer HOST:PORT amqp|core send|receive QUEUE COUNT. User and password are takt. */
public class Peer {
    public static void main(String[] args) throws Exception {
        ConnectionFactory factory = args[1].equals("amqp")
            ? new org.apache.qpid.jms.JmsConnectionFactory("amqp://" + args[0])
            : new org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory("tcp://" + args[0]);
        try (Connection connection = factory.createConnection("takt", "takt")) {
            connection.start();
            Session session = connection.createSession(true, Session.SESSION_TRANSACTED);
            int count = Integer.parseInt(args[4]);
            if (args[2].equals("send")) {
                send(session, session.createProducer(session.createQueue(args[3])), count);
            } else {
                receive(session.createConsumer(session.createQueue(args[3])), count);
            }
            session.commit();
        }
    }

    /** Sends bytes messages whose body is their number of bytes 1, and a text message in the end. */
    private static void send(Session session, MessageProducer producer, int count) throws JMSException {
        producer.setDeliveryMode(DeliveryMode.NON_PERSISTENT);
        for (int i = 0; i < count; i++) {
            BytesMessage m = session.createBytesMessage();
            byte[] body = new byte[i];
            java.util.Arrays.fill(body, (byte) 1);
            m.writeBytes(body);
            m.setLongProperty("time", i);
            producer.send(m);
        }
        producer.send(session.createTextMessage("the end"));
    }

    /** Prints a line for each message. */
    private static void receive(MessageConsumer consumer, int count) throws JMSException {
        for (int i = 0; i < count; i++) {
            Message m = consumer.receive(10_000);
            if (m == null) {
                throw new JMSException("message " + i + " does not come");
            }
            System.out.println(kind(m) + " mode=" + m.getJMSDeliveryMode() + " priority=" + m.getJMSPriority()
                + " id=" + m.getJMSMessageID() + " created=" + m.getJMSTimestamp() + " expires=" + m.getJMSExpiration()
                + properties(m));
        }
    }

    private static String kind(Message m) throws JMSException {
        if (m instanceof TextMessage) {
            return "text " + ((TextMessage) m).getText();
        }
        if (m instanceof BytesMessage) {
            BytesMessage b = (BytesMessage) m;
            byte[] body = new byte[(int) b.getBodyLength()];
            b.readBytes(body);
            int sum = 0;
            for (byte x : body) {
                sum += x;
            }
            return "bytes " + body.length + " sum=" + sum;
        }
        return m.getClass().getName();
    }

    private static String properties(Message m) throws JMSException {
        StringBuilder out = new StringBuilder();
        java.util.List<String> names = new java.util.ArrayList<>();
        for (Object name : Collections.list(m.getPropertyNames())) {
            names.add((String) name);
        }
        Collections.sort(names);
        for (String name : names) {
            if (name.equals("JMSXGroupID") || name.equals("time") || name.startsWith("t_") || name.startsWith("takt_")) {
                Object value = m.getObjectProperty(name);
                out.append(" ").append(name).append("=").append(value).append(":").append(value.getClass().getSimpleName());
            }
        }
        return out.toString();
    }
}
