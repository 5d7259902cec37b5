package io.leasehold.benchmarks.scripts;

import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.servers.RedisServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * {@code benchmarks/run queue [ROUNDS [MILLIS [WAITERS ...]]]}: measures the server's processor time per waiter, by the
 * number of waiters. It alternates with the queue of wire format 1, a sorted set and a hash.
 *
 * <p>A waiter retries; a lock is handed from its holder to the first waiter, which confirms, while the former holder
 * joins at the end.
 */
public final class QueueLadder {

    private static final List<Integer> WAITERS = List.of(1, 2, 8, 16, 32, 100, 300, 1_000);
    private static final String CHANNEL = "lock:wake:0123456789abcdef";
    private static final String LOCK = "lock:{order:1}";
    /** Far enough ahead of the clock that tokens depend on nothing else. */
    private static final long FENCE = 1L << 52;

    private QueueLadder() {}

    /** A format of the queue: its scripts, and the keys that they need. */
    private record Format(String acquire, String release, List<String> keys) {}

    private static List<Format> formats() {
        List<String> former = List.of(LOCK, LOCK + ":fence", LOCK + ":queued", LOCK + ":waiters", LOCK + ":asked");
        return List.of(
                new Format(text("acquire_format1.lua"), text("release_format1.lua"), former),
                new Format(LuaScript.ACQUIRE.text(), LuaScript.RELEASE.text(), List.of(KeyLayout.allOf(LOCK))));
    }

    /** The measured operations. */
    private enum Move {
        RECHECK,
        HAND_OVER
    }

    /** Prints the table. */
    public static void main(String[] arguments) throws IOException {
        int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 11;
        long millis = arguments.length > 1 ? Long.parseLong(arguments[1]) : 100;
        List<Integer> lengths = arguments.length > 2
                ? Arrays.stream(arguments).skip(2).map(Integer::valueOf).toList()
                : WAITERS;
        System.out.println(
                "| waiters | asks again: µs, format 1 | format 2 | ratio | hand-over: µs, format 1 | format 2 | ratio |");
        System.out.println("|--:|--:|--:|--:|--:|--:|--:|");
        try (RedisServer server = RedisServer.builder().start()) {
            for (int waiters : lengths) {
                StringBuilder row = new StringBuilder("| " + waiters);
                for (Move move : Move.values()) {
                    row.append(compared(server, move, waiters, rounds, millis));
                }
                System.out.println(row + " |");
            }
        }
    }

    private static String compared(RedisServer server, Move move, int waiters, int rounds, long millis)
            throws IOException {
        double[][] micros = new double[2][rounds];
        double[] ratios = new double[rounds];
        // The first round is a warm-up.
        for (int round = -1; round < rounds; round++) {
            for (int format = 0; format < 2; format++) {
                double cost = window(server, formats().get(format), move, waiters, millis);
                if (round >= 0) {
                    micros[format][round] = cost;
                }
            }
            if (round >= 0) {
                ratios[round] = micros[1][round] / micros[0][round];
            }
        }
        return String.format(
                Locale.ROOT, " | %.1f | %.1f | %.2f", median(micros[0]), median(micros[1]), median(ratios));
    }

    private static double window(RedisServer server, Format format, Move move, int waiters, long millis)
            throws IOException {
        try (Pipeline redis = new Pipeline(server.port());
                Pipeline listener = new Pipeline(server.port())) {
            redis.call("FLUSHALL");
            listener.call("SUBSCRIBE", CHANNEL);
            Game game = new Game(redis, format);
            game.begin(waiters);
            long done = 0;
            double before = ScriptLadder.processorMicros(redis);
            for (long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis); System.nanoTime() - end < 0; ) {
                done += move == Move.RECHECK ? game.recheckAll() : game.handOver();
            }
            return (ScriptLadder.processorMicros(redis) - before) / done;
        }
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    /** Reads a script that Leasehold does not use. */
    static String text(String file) {
        try (InputStream in = QueueLadder.class.getResourceAsStream(file)) {
            if (in == null) {
                throw new IllegalStateException(file + " is missing");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A lock, its holder, and its waiters. */
    private static final class Game {
        private final Pipeline redis;
        private final Format format;
        private final String acquire;
        private final String release;
        private final Deque<String> waiting = new ArrayDeque<>();
        private String holder = "";
        private long fence = FENCE;
        private long holds;
        private long owners;

        Game(Pipeline redis, Format format) throws IOException {
            this.redis = redis;
            this.format = format;
            this.acquire = redis.call("SCRIPT", "LOAD", format.acquire());
            this.release = redis.call("SCRIPT", "LOAD", format.release());
        }

        private String owner() {
            return String.format(Locale.ROOT, "%040x", ++owners);
        }

        private void ask(String owner, long candidate) throws IOException {
            String token = Long.toString(candidate);
            add(acquire, owner + ":" + token + ":host/4242/1f2e3d4c", "30000", token, token, "600000", CHANNEL, "4000");
        }

        private void add(String digest, String... arguments) throws IOException {
            List<String> words = new ArrayList<>(
                    List.of("EVALSHA", digest, Integer.toString(format.keys().size())));
            words.addAll(format.keys());
            words.addAll(List.of(arguments));
            redis.add(words);
        }

        private void answered(String expected) throws IOException {
            for (@Nullable Object answer : redis.answers()) {
                if (!(answer instanceof List<?> items) || !expected.equals(items.get(0))) {
                    throw new IllegalStateException("expected " + expected + ": " + answer);
                }
            }
        }

        void begin(int waiters) throws IOException {
            redis.call("SET", format.keys().get(1), Long.toString(fence));
            holder = owner();
            holds = ++fence;
            String token = Long.toString(holds);
            add(acquire, holder + ":" + token + ":host/4242/1f2e3d4c", "30000", token);
            redis.answers();
            for (int i = 0; i < waiters; i++) {
                waiting.add(owner());
                ask(waiting.getLast(), fence + 1);
                answered("queued");
            }
        }

        /** Lets each waiter recheck once. */
        int recheckAll() throws IOException {
            for (String owner : waiting) {
                ask(owner, fence + 1);
            }
            answered("queued");
            return waiting.size();
        }

        /** Hands the lock to the first waiter. */
        int handOver() throws IOException {
            add(release, holder, Long.toString(holds));
            answered("released");
            fence++;
            holder = waiting.removeFirst();
            holds = ++fence;
            ask(holder, holds);
            answered("yes");
            waiting.add(owner());
            ask(waiting.getLast(), fence + 1);
            answered("queued");
            return 1;
        }
    }
}
