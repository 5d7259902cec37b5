import io.leasehold.servers.EtcdServer;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerUnavailableException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.curator.test.TestingServer;

/** Starts a server for each store, and runs Fits on the class path of each project below a folder. */
public final class FitTogether {

    /** What a user of a module meets first; the modules of stores are met by connecting. */
    private static final Map<String, String> ENTRIES = Map.ofEntries(
            Map.entry("micrometer", "io.leasehold.micrometer.LockMetrics"),
            Map.entry("reactor", "io.leasehold.reactor.ReactiveLocks"),
            Map.entry("kotlin", "io.leasehold.kotlin.WithLeaseKt"),
            Map.entry("cdi", "io.leasehold.cdi.LeaseholdExtension"),
            Map.entry("shedlock", "io.leasehold.shedlock.LeaseholdLockProvider"),
            Map.entry("spring", "io.leasehold.spring.LeaseholdTemplate"),
            Map.entry("spring-boot-starter", "io.leasehold.spring.boot.LeaseholdAutoConfiguration"),
            Map.entry("spring-boot-starter-test", "io.leasehold.spring.boot.test.LockFaults"),
            Map.entry("spring-integration", "io.leasehold.spring.integration.LeaseholdLockRegistry"),
            Map.entry("db-scheduler", "io.leasehold.dbscheduler.LeaseInterceptor"),
            Map.entry("testkit", "io.leasehold.testkit.tck.BackendTck"),
            Map.entry("simulator", "io.leasehold.simulator.Simulator"));

    private FitTogether() {}

    public static void main(String[] arguments) throws Exception {
        Path projects = Path.of(arguments[0]);
        Path classes = Path.of(arguments[1]);
        Map<String, String> uris = new TreeMap<>();
        List<String> failed = new ArrayList<>();
        try (RedisServer redis = RedisServer.start();
                TestingServer zooKeeper = new TestingServer(0);
                EtcdServer etcd = etcd()) {
            uris.put("redis", redis.uri());
            uris.put("jedis", "over-jedis:" + redis.uri());
            uris.put("zookeeper", "zk://" + zooKeeper.getConnectString() + "/fit");
            uris.put("jdbc", "sqlite:" + projects.resolve("locks.db"));
            if (etcd != null) {
                uris.put("etcd", "etcd://127.0.0.1:" + etcd.port() + "/fit");
            }
            List<Path> all;
            try (Stream<Path> found = Files.list(projects)) {
                all = found.filter(project -> Files.exists(project.resolve("class-path"))).sorted().toList();
            }
            for (Path project : all) {
                String name = project.getFileName().toString();
                System.out.println(name);
                List<String> command = new ArrayList<>(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        // TLS is spoken over Netty: the client of ZooKeeper meets the Netty of the others.
                        "-Dzookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty",
                        "-cp",
                        Files.readString(project.resolve("class-path")).strip() + ":" + classes,
                        "Fits"));
                List<String> modules = List.of(name.split("\\.", -1));
                modules.stream().filter(ENTRIES::containsKey).map(module -> "class:" + ENTRIES.get(module)).forEach(command::add);
                modules.stream().filter(uris::containsKey).map(uris::get).forEach(command::add);
                if (new ProcessBuilder(command).inheritIO().start().waitFor() != 0) {
                    failed.add(name);
                }
            }
            System.out.println(failed.isEmpty() ? all.size() + " projects fit together" : "do not fit together: " + failed);
        }
        System.exit(failed.isEmpty() ? 0 : 1);
    }

    private static EtcdServer etcd() {
        try {
            return EtcdServer.start();
        } catch (ServerUnavailableException e) {
            System.out.println("without etcd's server, its driver is only on the class path: " + e.getMessage());
            return null;
        }
    }
}
