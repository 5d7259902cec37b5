package io.leasehold.redis;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.spi.StoreUri;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;

/** Performs operations that may fail with URIs that contain passwords, and prints all results. */
public final class SecretsMain {

    private SecretsMain() {}

    /** Reads the URIs from the environment, where other users cannot see them. */
    public static void main(String[] arguments) throws Exception {
        for (String variable :
                List.of("WRONG_PASSWORD", "NOBODY", "DOWN", "NO_RIGHT", "MALFORMED", "UNKNOWN_PARAMETER")) {
            String uri = System.getenv(variable);
            try (LockClient locks = Leasehold.connect(uri)) {
                locks.named("x").acquire().close();
                System.out.println(variable + " did not fail");
            } catch (RuntimeException e) {
                System.out.println(variable + " failed: " + e);
                print(e);
            }
            try {
                System.out.println(Redlock.over(uri) + " " + StoreUri.parse(uri));
                System.out.println(RedisStore.at(uri));
            } catch (RuntimeException e) {
                print(e);
            }
        }
        String uri = System.getenv("RIGHT");
        try (LockClient locks = Leasehold.connect(uri);
                EfficiencyLocks plain = EfficiencyLocks.connect(uri);
                Lease lease = locks.named("x").acquire()) {
            System.out.println(locks + " " + locks.storeDescription() + " " + lease + " " + plain + " "
                    + plain.named("y") + " " + plain.named("y").acquire() + " " + RedisStore.at(uri) + " "
                    + locks.admin().list("*", 10));
            Thread.getAllStackTraces().keySet().forEach(thread -> System.out.println("thread " + thread.getName()));
            System.out.println("holding");
            System.in.read();
        }
        System.out.println("done");
    }

    private static void print(RuntimeException thrown) {
        StringWriter text = new StringWriter();
        thrown.printStackTrace(new PrintWriter(text));
        System.out.println(text);
    }
}
