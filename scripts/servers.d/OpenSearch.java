import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.opensearch.common.settings.Settings;
import org.opensearch.index.reindex.ReindexPlugin;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

/** One OpenSearch node of the jars on Maven Central, which hold no program: OpenSearch.java HOME NAME=VALUE… */
class OpenSearch extends Node {
    OpenSearch(Path home, Map<String, String> settings) {
        super(InternalSettingsPreparer.prepareEnvironment(Settings.EMPTY, settings, home, () -> "takt"),
                List.of(Netty4Plugin.class, ReindexPlugin.class), true);
    }

    public static void main(String[] args) throws Exception {
        Map<String, String> settings = new HashMap<>();
        settings.put("path.home", args[0]);
        for (int i = 1; i < args.length; i++) {
            String[] setting = args[i].split("=", 2);
            settings.put(setting[0], setting[1]);
        }
        OpenSearch node = new OpenSearch(Path.of(args[0], "config"), settings);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                node.close();
            } catch (Exception e) {
                e.printStackTrace();
            }
        }));
        node.start();
        new CountDownLatch(1).await(); // its threads do not keep the process alive
    }
}
