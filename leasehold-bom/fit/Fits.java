import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.Leasehold;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import java.lang.reflect.Method;
import java.time.Duration;

/** Links the entry classes of modules and acquires a lock in each store, on the class path of one of the projects that leasehold-bom/fit-together makes. */
public final class Fits {

    private static final String OVER_JEDIS = "over-jedis:";

    private static final String CLASS = "class:";

    private Fits() {}

    /** Loads a class and every type that its public methods name. */
    private static void link(String name) throws ClassNotFoundException {
        System.out.println("  linked " + name + ", " + Class.forName(name).getMethods().length + " methods");
    }

    public static void main(String[] arguments) throws Exception {
        for (String uri : arguments) {
            if (uri.startsWith(CLASS)) {
                link(uri.substring(CLASS.length()));
                continue;
            }
            for (int attempt = 1; !taken(uri, attempt); attempt++) {
                System.out.println("  once more: " + uri.substring(0, uri.indexOf(':')));
            }
            System.out.println("  acquired " + uri.substring(0, uri.indexOf(':')));
        }
    }

    /** A busy machine may answer late; only what does not fit is an error at once. */
    private static boolean taken(String uri, int attempt) throws Exception {
        try (LockClient locks = connect(uri);
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

    private static LockClient connect(String uri) throws Exception {
        if (!uri.startsWith(OVER_JEDIS)) {
            return Leasehold.connect(uri);
        }
        // Not on every class path, and compiled on one of those without it.
        Class<?> type = Class.forName("io.leasehold.jedis.JedisStore");
        Object store = type.getMethod("at", String.class).invoke(null, uri.substring(OVER_JEDIS.length()));
        Method open = type.getMethod("open", LockRuntime.class);
        return Leasehold.builder()
                .store(runtime -> {
                    try {
                        return (LockStore) open.invoke(store, runtime);
                    } catch (ReflectiveOperationException e) {
                        throw new IllegalStateException(e);
                    }
                })
                .connect();
    }
}
