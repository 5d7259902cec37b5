package io.leasehold.benchmarks.scripts;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.benchmarks.measure.CommandUse;
import io.leasehold.benchmarks.measure.ServerMeter;
import io.leasehold.benchmarks.measure.ServerUse;
import io.leasehold.servers.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * {@code benchmarks/run told [LOSSES [SECONDS]]}: how soon {@code onLost} is called after the key of a lock was deleted, with {@code toldAtOnce};
 * and what that costs while nothing is lost: 100 leases that are renewed, with it and without it.
 */
public final class ToldAtOnce {

    private static final int LEASES = 100;
    private static final Duration TTL = Duration.ofSeconds(3);

    private ToldAtOnce() {}

    /** Prints both tables. */
    public static void main(String[] arguments) throws Exception {
        int losses = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 1_000;
        int seconds = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 20;
        try (RedisServer server = RedisServer.builder().start()) {
            System.out.println("| losses | p50 ms | p90 ms | p99 ms | longest ms |");
            System.out.println("|--:|--:|--:|--:|--:|");
            System.out.println(losses(server, losses));
            System.out.println();
            System.out.println(
                    "| toldAtOnce | renewals | scripts | `MGET` | server µs per renewal | bytes to the clients per renewal |");
            System.out.println("|---|--:|--:|--:|--:|--:|");
            System.out.println(renewals(server, "no", server.uri(), seconds));
            System.out.println(renewals(server, "yes", told(server), seconds));
        }
    }

    private static String told(RedisServer server) {
        return server.uri() + "?toldAtOnce=true";
    }

    private static String losses(RedisServer server, int count) throws Exception {
        long[] nanos = new long[count];
        try (LockClient locks = Leasehold.connect(told(server));
                Pipeline stranger = new Pipeline(server.port())) {
            // The first tenth warms up.
            for (int i = -count / 10; i < count; i++) {
                String name = "lost" + (count + i);
                try (Lease lease = locks.named(name).acquire()) {
                    CompletableFuture<Long> heard = new CompletableFuture<>();
                    lease.onLost(cause -> heard.complete(System.nanoTime()));
                    // It is read behind the acquire, and nothing tells when.
                    TimeUnit.MILLISECONDS.sleep(5);
                    long from = System.nanoTime();
                    stranger.call("DEL", "lock:{" + name + "}");
                    long spent = heard.get(1, TimeUnit.MINUTES) - from;
                    if (i >= 0) {
                        nanos[i] = spent;
                    }
                }
            }
        }
        Arrays.sort(nanos);
        return String.format(
                Locale.ROOT,
                "| %d | %.2f | %.2f | %.2f | %.2f |",
                count,
                nanos[count / 2] / 1e6,
                nanos[count * 9 / 10] / 1e6,
                nanos[count * 99 / 100] / 1e6,
                nanos[count - 1] / 1e6);
    }

    private static String renewals(RedisServer server, String told, String uri, int seconds)
            throws IOException, InterruptedException {
        server.call("FLUSHALL");
        ServerMeter meter = new ServerMeter(server);
        try (LockClient locks = Leasehold.builder()
                        .store(uri)
                        .defaults(LockOptions.defaults().ttl(TTL))
                        .connect();
                Pipeline redis = new Pipeline(server.port())) {
            List<Lease> held = new ArrayList<>();
            for (int i = 0; i < LEASES; i++) {
                held.add(locks.named("kept" + i).acquire());
            }
            TimeUnit.SECONDS.sleep(2);
            ServerUse before = meter.look();
            double micros = ScriptLadder.processorMicros(redis);
            long bytes = bytes(redis);
            TimeUnit.SECONDS.sleep(seconds);
            bytes = bytes(redis) - bytes;
            micros = ScriptLadder.processorMicros(redis) - micros;
            ServerUse after = meter.look();
            held.forEach(Lease::close);
            // Each renewal extends the ttl, and nothing else does.
            long renewals = calls(after, "pexpire") - calls(before, "pexpire");
            return String.format(
                    Locale.ROOT,
                    "| %s | %d | %d | %d | %.1f | %.0f |",
                    told,
                    renewals,
                    calls(after, "evalsha") - calls(before, "evalsha"),
                    calls(after, "mget") - calls(before, "mget"),
                    micros / renewals,
                    (double) bytes / renewals);
        }
    }

    private static long calls(ServerUse use, String command) {
        CommandUse found = use.commands().get(command);
        return found == null ? 0 : found.calls();
    }

    private static long bytes(Pipeline redis) throws IOException {
        return redis.call("INFO", "stats")
                .lines()
                .filter(line -> line.startsWith("total_net_output_bytes:"))
                .mapToLong(line ->
                        Long.parseLong(line.substring(line.indexOf(':') + 1).strip()))
                .sum();
    }
}
