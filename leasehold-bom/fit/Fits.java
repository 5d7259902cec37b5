import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.Leasehold;
import java.time.Duration;

/** Takes a lock in each store, on the class path of one of the projects that leasehold-bom/fit-together makes. */
public final class Fits {

    private Fits() {}

    public static void main(String[] uris) throws Exception {
        for (String uri : uris) {
            try (LockClient locks = Leasehold.connect(uri);
                    Lease lease = locks.named("fit-together")
                            .with(options -> options.ttl(Duration.ofSeconds(10)))
                            .tryAcquire(Duration.ofSeconds(30))) {
                if (lease == null) {
                    throw new IllegalStateException("no lock from " + uri);
                }
                System.out.println("  acquired " + uri.substring(0, uri.indexOf(':')));
            }
        }
    }
}
