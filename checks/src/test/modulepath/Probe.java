import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.Leasehold;
import io.leasehold.spi.StoreProvider;
import java.time.Duration;
import java.util.List;
import java.util.ServiceLoader;
import java.util.TreeSet;

/** ModulePathTest starts this with the four named modules on the module path. */
public final class Probe {

    private Probe() {}

    public static void main(String[] args) throws Exception {
        for (String name : List.of("io.leasehold.core", "io.leasehold.redis", "io.leasehold.jdbc", "io.leasehold.testkit")) {
            Module module = ModuleLayer.boot().findModule(name).orElseThrow();
            if (module.getDescriptor().isAutomatic()) {
                throw new IllegalStateException(name + " is an automatic module: its module-info is not used");
            }
        }
        take("memory:");
        take("sqlite:" + args[0]);
        TreeSet<String> schemes = new TreeSet<>();
        ServiceLoader.load(StoreProvider.class.getModule().getLayer(), StoreProvider.class)
                .forEach(provider -> schemes.addAll(provider.schemes()));
        System.out.println("schemes " + schemes);
    }

    private static void take(String uri) throws InterruptedException {
        try (LockClient locks = Leasehold.connect(uri);
                Lease lease = locks.named("module-path").tryAcquire(Duration.ZERO)) {
            if (lease == null || lease.fencingToken() < 1) {
                throw new IllegalStateException("no lock from " + uri);
            }
            System.out.println("acquired " + uri);
        }
    }
}
