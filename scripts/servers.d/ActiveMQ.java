import java.io.File;
import java.util.List;
import org.apache.activemq.broker.BrokerPlugin;
import org.apache.activemq.broker.BrokerService;
import org.apache.activemq.plugin.StatisticsBrokerPlugin;
import org.apache.activemq.security.AuthenticationUser;
import org.apache.activemq.security.AuthorizationEntry;
import org.apache.activemq.security.AuthorizationPlugin;
import org.apache.activemq.security.DefaultAuthorizationMap;
import org.apache.activemq.security.SimpleAuthenticationPlugin;

/** One broker of ActiveMQ Classic from the jars on Maven Central: ActiveMQ.java FOLDER PORT. */
class ActiveMQ {
    public static void main(String[] args) throws Exception {
        String folder = args[0];
        int port = Integer.parseInt(args[1]);
        System.setProperty("javax.net.ssl.keyStore", folder + "/tls.p12");
        System.setProperty("javax.net.ssl.keyStorePassword", "takttakt");
        System.setProperty("javax.net.ssl.keyStoreType", "PKCS12");
        BrokerService broker = new BrokerService();
        broker.setBrokerName("takt");
        broker.setDataDirectoryFile(new File(folder, "data"));
        broker.setPersistent(true);
        broker.setUseJmx(false);
        broker.getSystemUsage().getMemoryUsage().setLimit(128L << 20);
        broker.getSystemUsage().getStoreUsage().setLimit(1L << 30);
        broker.getSystemUsage().getTempUsage().setLimit(1L << 30);
        AuthenticationUser takt = new AuthenticationUser("takt", "takt", "all");
        AuthenticationUser poor = new AuthenticationUser("poor", "poor", "none");
        DefaultAuthorizationMap map = new DefaultAuthorizationMap();
        for (String kind : List.of("queue", "topic")) {
            AuthorizationEntry entry = new AuthorizationEntry();
            if (kind.equals("queue")) {
                entry.setQueue(">");
            } else {
                entry.setTopic(">");
            }
            entry.setRead("all");
            entry.setWrite("all");
            entry.setAdmin("all");
            map.put(entry.getDestination(), entry);
        }
        broker.setPlugins(new BrokerPlugin[] {
            new SimpleAuthenticationPlugin(List.of(takt, poor)), new AuthorizationPlugin(map), new StatisticsBrokerPlugin(),
        });
        broker.addConnector("amqp://127.0.0.1:" + port);
        broker.addConnector("amqp+ssl://127.0.0.1:" + (port + 1));
        broker.start();
        broker.waitUntilStopped();
    }
}
