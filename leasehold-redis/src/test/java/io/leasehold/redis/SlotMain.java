package io.leasehold.redis;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.nio.charset.Charset;

/** Acquires locks of a Cluster whose names are outside ASCII, in a JVM with any charset. */
public final class SlotMain {

    private SlotMain() {}

    /** Reads the URI of the Cluster from the first argument. */
    public static void main(String[] arguments) throws Exception {
        System.out.println("charset " + Charset.defaultCharset());
        try (LockClient locks = Leasehold.connect(arguments[0])) {
            for (int i = 0; i < 20; i++) {
                try (Lease lease = locks.named("t\u00fcr:" + i).acquire()) {
                    System.out.println("held " + i + " " + lease.isValid());
                }
            }
            System.out.println("done");
        }
    }
}
