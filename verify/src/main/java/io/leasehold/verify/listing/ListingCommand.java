package io.leasehold.verify.listing;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.servers.RedisServer;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * {@code listing}: the p99 of an acquire with and without an operator that lists and searches many locks at the same
 * time.
 */
@Command(
        name = "listing",
        mixinStandardHelpOptions = true,
        description = {
            "Fills a Redis with held locks, and measures acquire and release of others: idle, during repeated ls, and",
            "during repeated leaks, round by round. Exit code: 0 if the medians of the p99 stay within twice that of",
            "the idle rounds, 1 if not."
        },
        exitCodeOnInvalidInput = 64,
        exitCodeOnExecutionException = 70)
public final class ListingCommand implements Callable<Integer> {

    /** Belongs to no living holder: the owner token is not secret. */
    private static final String VALUE = "00000000000000000000000000000000000000ff:1:listing";

    private static final double MAX_RATIO = 2.0;

    @Option(names = "--locks", paramLabel = "N", description = "Number of held locks. Default: 100000")
    private int locks = 100_000;

    @Option(names = "--rounds", paramLabel = "N", description = "Rounds of each kind. Default: 5")
    private int rounds = 5;

    @Option(names = "--seconds", paramLabel = "S", description = "Length of a round. Default: 3")
    private int seconds = 3;

    /** Called by picocli. */
    public ListingCommand() {}

    @Override
    public Integer call() throws Exception {
        try (RedisServer server = RedisServer.start();
                LockClient worker = Leasehold.connect(server.uri());
                LockClient operator = Leasehold.connect(server.uri())) {
            for (int i = 0; i < locks; i++) {
                server.call("SET", "lock:{held:" + i + "}", VALUE, "PX", "3600000");
            }
            long[] idle = new long[rounds];
            long[] listing = new long[rounds];
            long[] searching = new long[rounds];
            AtomicInteger looks = new AtomicInteger();
            measure(worker);
            for (int round = 0; round < rounds; round++) {
                idle[round] = measure(worker);
                listing[round] = during(worker, looks, () -> operator.admin().list("*", 1000));
                searching[round] = during(worker, looks, () -> operator.admin().leaks(Duration.ofMinutes(15)));
            }
            return report(median(idle), median(listing), median(searching), looks.get());
        }
    }

    private int report(long idle, long listing, long searching, int looks) {
        double most = (double) Math.max(listing, searching) / idle;
        System.out.printf(
                Locale.ROOT,
                "%d held locks, %d looks: p99 of acquire and release idle %.0f µs, during ls %.0f µs (%.2f×), during leaks"
                        + " %.0f µs (%.2f×)%n",
                locks,
                looks,
                idle / 1e3,
                listing / 1e3,
                (double) listing / idle,
                searching / 1e3,
                (double) searching / idle);
        return most <= MAX_RATIO ? 0 : 1;
    }

    private long during(LockClient worker, AtomicInteger looks, Runnable look) throws Exception {
        AtomicBoolean over = new AtomicBoolean();
        CompletableFuture<Void> looking = CompletableFuture.runAsync(() -> {
            while (!over.get()) {
                look.run();
                looks.incrementAndGet();
            }
        });
        try {
            return measure(worker);
        } finally {
            over.set(true);
            looking.join();
        }
    }

    private long measure(LockClient worker) throws InterruptedException {
        LongStream.Builder took = LongStream.builder();
        long start = System.nanoTime();
        for (int i = 0; System.nanoTime() - start < seconds * 1_000_000_000L; i++) {
            long from = System.nanoTime();
            worker.named("work:" + i % 1_000).acquire().close();
            took.add(System.nanoTime() - from);
        }
        long[] sorted = took.build().sorted().toArray();
        return sorted[sorted.length * 99 / 100];
    }

    private static long median(long[] values) {
        long[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
