package io.leasehold.testkit.tck;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.StoreUnavailableException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** The child JVM of {@link KilledWaiterTck}: connects, reports that, and waits for a lock when it receives a line. */
public final class WaiterMain {

    static final String READY = "READY";

    private WaiterMain() {}

    /** Argument: the lock's name; the store's URI is in the environment. */
    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws InterruptedException, IOException {
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String uri = System.getenv(HolderMain.URI_VARIABLE);
        if (uri == null) {
            throw new IllegalStateException("the environment variable " + HolderMain.URI_VARIABLE + " is not set");
        }
        LockOptions options = LockOptions.defaults().ttl(Duration.ofSeconds(5)).recheck(Duration.ofMillis(500));
        try (LockClient client = connect(uri, options)) {
            client.named(args[0] + "-warm").acquire().release();
            System.out.println(READY);
            if (commands.readLine() != null) {
                client.named(args[0]).acquire();
                commands.readLine();
            }
        }
    }

    /** A machine that starts several JVMs at once may be too slow for the time limits of a first connection. */
    private static LockClient connect(String uri, LockOptions options) {
        long start = System.nanoTime();
        while (true) {
            try {
                return Leasehold.builder().store(uri).defaults(options).connect();
            } catch (StoreUnavailableException e) {
                if (System.nanoTime() - start > TckBench.PATIENCE.toNanos()) {
                    throw e;
                }
            }
        }
    }
}
