package io.leasehold.testkit.tck;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.Renewal;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * The child JVM of the TCK: acquires a lock, reports it, and holds it until a line arrives on its standard input. It
 * ends when that is closed, so that it never outlives its parent.
 */
public final class HolderMain {

    static final String URI_VARIABLE = "LEASEHOLD_TCK_STORE";
    static final String HELD = "HELD";
    static final String RELEASED = "RELEASED";

    private HolderMain() {}

    /** Arguments: lock name, ttl in milliseconds, whether to renew; the store's URI is in the environment. */
    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws InterruptedException, IOException {
        LockOptions options = LockOptions.defaults()
                .ttl(Duration.ofMillis(Long.parseLong(args[1])))
                .renewal(Boolean.parseBoolean(args[2]) ? Renewal.automatic() : Renewal.none());
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String uri = System.getenv(URI_VARIABLE);
        if (uri == null) {
            throw new IllegalStateException("the environment variable " + URI_VARIABLE + " is not set");
        }
        try (LockClient client =
                Leasehold.builder().store(uri).defaults(options).connect()) {
            long askedAtNanos = System.nanoTime();
            Lease lease = client.named(args[0]).acquire();
            System.out.println(HELD + " " + askedAtNanos + " " + lease.fencingToken());
            if (commands.readLine() != null) {
                System.out.println(RELEASED + " " + lease.release());
            }
        }
    }
}
