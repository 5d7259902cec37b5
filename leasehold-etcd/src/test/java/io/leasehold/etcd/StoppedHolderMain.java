package io.leasehold.etcd;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** Holds a lock, and reports on request whether it assumes that it holds; ends with its standard input. */
final class StoppedHolderMain {

    private StoppedHolderMain() {}

    public static void main(String[] args) throws Exception {
        LockOptions options = LockOptions.defaults().ttl(Duration.ofMillis(Long.parseLong(args[2])));
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (LockClient client =
                Leasehold.builder().store(args[0]).defaults(options).connect()) {
            Lease lease = client.named(args[1]).acquire();
            lease.onLost(cause -> System.out.println("LOST " + cause));
            System.out.println("HELD " + lease.fencingToken());
            while (commands.readLine() != null) {
                System.out.println("VALID " + lease.isValid());
            }
        }
    }
}
