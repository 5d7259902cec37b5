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
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * {@code benchmarks/run told [LOSSES [SECONDS]]}: measures the time from the deletion of a lock's key to the call of
 * {@code onLost}, with {@code toldAtOnce}. It also measures the cost without losses: 100 leases that are renewed, with
 * and without it.
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
            losses(server, losses);
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

    /**
     * Measures the same losses twice: when a connection without a client has the message, and when the holder is
     * notified.
     */
    private static void losses(RedisServer server, int count) throws Exception {
        long[] bare = new long[count];
        long[] heard = new long[count];
        try (LockClient locks = Leasehold.connect(told(server));
                Pipeline stranger = new Pipeline(server.port());
                Pipeline listener = new Pipeline(server.port())) {
            listener.call("HELLO", "3");
            listener.call("CLIENT", "TRACKING", "ON");
            // The first fifth is a warm-up.
            for (int i = -count / 5; i < count; i++) {
                String name = "lost" + (count + i);
                try (Lease lease = locks.named(name).acquire()) {
                    CompletableFuture<Long> lost = new CompletableFuture<>();
                    lease.onLost(cause -> lost.complete(System.nanoTime()));
                    listener.call("GET", "lock:{" + name + "}");
                    CompletableFuture<Long> pushed = CompletableFuture.supplyAsync(() -> pushed(listener));
                    // The lock is read after its acquire, and no event reports when.
                    TimeUnit.MILLISECONDS.sleep(5);
                    long from = System.nanoTime();
                    stranger.call("DEL", "lock:{" + name + "}");
                    if (i >= 0) {
                        bare[i] = pushed.get(1, TimeUnit.MINUTES) - from;
                        heard[i] = lost.get(1, TimeUnit.MINUTES) - from;
                    } else {
                        pushed.get(1, TimeUnit.MINUTES);
                        lost.get(1, TimeUnit.MINUTES);
                    }
                }
            }
        }
        System.out.println("| " + count + " losses | p50 ms | p90 ms | p99 ms | longest ms |");
        System.out.println("|---|--:|--:|--:|--:|");
        System.out.println(row("message on a bare connection", bare));
        System.out.println(row("`onLost`", heard));
    }

    private static long pushed(Pipeline listener) {
        try {
            listener.push();
            return System.nanoTime();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String row(String what, long[] nanos) {
        long[] sorted = nanos.clone();
        Arrays.sort(sorted);
        int count = sorted.length;
        return String.format(
                Locale.ROOT,
                "| %s | %.2f | %.2f | %.2f | %.2f |",
                what,
                sorted[count / 2] / 1e6,
                sorted[count * 9 / 10] / 1e6,
                sorted[count * 99 / 100] / 1e6,
                sorted[count - 1] / 1e6);
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
            // Only renewals extend the ttl.
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
