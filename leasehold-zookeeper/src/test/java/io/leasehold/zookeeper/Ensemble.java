package io.leasehold.zookeeper;

import io.leasehold.servers.PortReservation;
import java.util.HashMap;
import java.util.Map;
import org.apache.curator.test.InstanceSpec;
import org.apache.curator.test.TestingServer;

/** Real members in this process, with a short tick and any session timeout. */
final class Ensemble {

    /** Short, so that sessions end soon after their timeout. */
    static final int TICK_MILLIS = 100;

    private Ensemble() {}

    static InstanceSpec member() {
        Map<String, Object> properties = new HashMap<>();
        properties.put("maxSessionTimeout", "3600000");
        properties.put("minSessionTimeout", "200");
        properties.put("initLimit", "50");
        properties.put("syncLimit", "20");
        // Curator itself chooses a port of outgoing connections. When a killed member restarts, a connection may have
        // its port, and its embedded server then ends the JVM.
        return new InstanceSpec(
                null,
                PortReservation.forThisJvm(),
                PortReservation.forThisJvm(),
                PortReservation.forThisJvm(),
                true,
                -1,
                TICK_MILLIS,
                1_000,
                properties);
    }

    static TestingServer single() {
        try {
            return new TestingServer(member(), true);
        } catch (Exception e) {
            throw new IllegalStateException("no ZooKeeper server could be started", e);
        }
    }

    static String uri(String servers, String options) {
        return uri(servers, TICK_MILLIS, options);
    }

    static String uri(String servers, int tickMillis, String options) {
        return "zk://" + servers + "/tests?tickTime=" + tickMillis + "ms" + options;
    }
}
