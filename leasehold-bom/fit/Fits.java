import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.Leasehold;
import io.leasehold.StoreUnavailableException;
import java.time.Duration;

/** Takes a lock in each store, on the class path of one of the projects that leasehold-bom/fit-together makes. */
public final class Fits {

    private Fits() {}

    public static void main(String[] uris) throws Exception {
        for (String uri : uris) {
            for (int attempt = 1; !taken(uri, attempt); attempt++) {
                System.out.println("  once more: " + uri.substring(0, uri.indexOf(':')));
            }
            System.out.println("  acquired " + uri.substring(0, uri.indexOf(':')));
        }
    }

    /** A busy machine may answer late; only what does not fit is an error at once. */
    private static boolean taken(String uri, int attempt) throws Exception {
        try (LockClient locks = Leasehold.connect(uri);
                Lease lease = locks.named("fit-together")
                        .with(options -> options.ttl(Duration.ofSeconds(10)))
                        .tryAcquire(Duration.ofSeconds(30))) {
            if (lease == null && attempt == 5) {
                throw new IllegalStateException("no lock from " + uri);
            }
            return lease != null;
        } catch (StoreUnavailableException e) {
            if (attempt == 5) {
                throw e;
            }
            return false;
        }
    }
}
