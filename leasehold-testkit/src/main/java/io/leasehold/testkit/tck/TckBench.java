package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.fail;

import io.leasehold.Backoff;
import io.leasehold.Guarantee;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Assumptions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The tools of a TCK test: stores and clients of the shared store, unique lock names, gates, and waiting with generous
 * bounds. Everything that it opens is closed after the test.
 */
public final class TckBench {

    /** An upper bound for every expected event on any working machine. */
    static final Duration PATIENCE = Duration.ofSeconds(60);

    /** A ttl that no test outlives. */
    static final Duration LONG_TTL = Duration.ofMinutes(10);

    /** The name of the {@code ResourceLock} of tests that must be alone with the store and the process. */
    static final String STORE = "io.leasehold.testkit.tck.store";

    private static final Logger LOG = LoggerFactory.getLogger(TckBench.class);

    private final StoreFixture fixture;
    private final String test;
    private final Gated gated;
    private final String prefix;
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();

    TckBench(StoreFixture fixture, String test, Gated gated) {
        this.fixture = fixture;
        this.test = test;
        this.gated = gated;
        byte[] random = new byte[6];
        ThreadLocalRandom.current().nextBytes(random);
        this.prefix = "tck-" + HexFormat.of().formatHex(random) + "-";
    }

    StoreFixture fixture() {
        return fixture;
    }

    /** A lock name that only this test uses. */
    LockName name(String rest) {
        return LockName.exactly(prefix + rest);
    }

    /** The prefix of the names of this test. */
    String prefix() {
        return prefix;
    }

    /** Opens the store, as one more process would. */
    StoreDriver store() {
        WallTimeRuntime runtime = new WallTimeRuntime();
        return driver(fixture.open(runtime), runtime);
    }

    /** Opens the store with a client that deletes unused data at once. */
    StoreDriver forgetfulStore() {
        WallTimeRuntime runtime = new WallTimeRuntime();
        LockStore store = fixture.openForgetful(runtime);
        if (store == null) {
            runtime.close();
            leaveOut("has no client that deletes unused data");
            throw new IllegalStateException("left out");
        }
        return driver(store, runtime);
    }

    private StoreDriver driver(LockStore store, WallTimeRuntime runtime) {
        StoreDriver driver = new StoreDriver(store, runtime);
        opened.push(() -> {
            store.close();
            runtime.close();
        });
        return driver;
    }

    /** Connects a client, as one more process would; short delays, a long ttl. */
    LockClient client() {
        return client(options -> options);
    }

    LockClient client(UnaryOperator<LockOptions> change) {
        return client(fixture::open, change);
    }

    private static LockOptions options() {
        return LockOptions.defaults()
                .ttl(Duration.ofSeconds(30))
                .recheck(Duration.ofMillis(250))
                .retry(Backoff.jittered(Duration.ofMillis(1), Duration.ofMillis(20)));
    }

    /** Connects a client that reaches the store through this front. */
    LockClient clientThrough(StoreFront front, UnaryOperator<LockOptions> change) {
        return client(front::open, change);
    }

    private LockClient client(Function<LockRuntime, LockStore> opener, UnaryOperator<LockOptions> change) {
        WallTimeRuntime runtime = new WallTimeRuntime();
        LockOptions options = change.apply(options());
        LockClient client = Leasehold.builder()
                .store(opener.apply(runtime))
                .runtime(runtime)
                .defaults(options)
                .label("tck")
                .connect();
        opened.push(client);
        return client;
    }

    /** Lets threads of one client acquire this lock in turn, and checks the result. */
    Turns turns(LockName name, int many) {
        WallTimeRuntime storeRuntime = new WallTimeRuntime();
        opened.push(storeRuntime::close);
        LockStore store = fixture.open(storeRuntime);
        Turns turns = new Turns(name, many, store.guarantees().covers(Guarantee.Fencing.INCREASING));
        LockClient client = Leasehold.builder()
                .store(turns.noting(store))
                .runtime(turns.runtime())
                .listener(turns.listener())
                // A node that answers late on a busy machine must not be taken for one that fails.
                .defaults(options().nodeTimeout(Duration.ofSeconds(8)))
                .label("tck")
                .connect();
        opened.push(client);
        turns.run(client);
        return turns;
    }

    /** A front of this test's own. */
    StoreFront front() {
        StoreFront front = ((FaultyFixture) fixture).front();
        opened.push(front);
        return front;
    }

    /** The state of this lock in the store itself. */
    List<String> kept(LockName name) {
        return ((FaultyFixture) fixture).kept(name);
    }

    /** Leaves the test out where the store does not promise this much; that is printed. */
    void needs(Guarantee level) {
        LockStore probe = fixture.open(new WallTimeRuntime());
        boolean covered;
        try {
            covered = probe.guarantees().covers(level);
        } finally {
            probe.close();
        }
        if (!covered) {
            leaveOut("does not promise " + level.getClass().getSimpleName().toLowerCase(Locale.ROOT) + " " + level);
        }
    }

    /** Whether the store keeps locks for tickets. */
    boolean keepsTickets() {
        LockStore probe = fixture.open(new WallTimeRuntime());
        try {
            return probe.keepsTickets();
        } finally {
            probe.close();
        }
    }

    /** Whether a leader can name its successor at the store. */
    boolean namesSuccessors() {
        LockStore probe = fixture.open(new WallTimeRuntime());
        try {
            return probe.namesSuccessors();
        } finally {
            probe.close();
        }
    }

    /** Leaves the test out where the store keeps no tickets; that is printed. */
    void needsTickets() {
        if (!keepsTickets()) {
            leaveOut("keeps no locks for tickets");
        }
    }

    /** Whether the store grants a lock to several readers. */
    boolean keepsReaders() {
        LockStore probe = fixture.open(new WallTimeRuntime());
        try {
            return probe.keepsReaders();
        } finally {
            probe.close();
        }
    }

    /** Leaves the test out where the store keeps no readers; that is printed. */
    void needsReaders() {
        if (!keepsReaders()) {
            leaveOut("does not grant a lock to several readers");
        }
    }

    void leaveOut(String reason) {
        gated.add(fixture.name(), test, reason);
        Assumptions.abort("gated: " + fixture.name() + " " + reason);
    }

    /** Waits until the condition holds. */
    static void until(String what, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - start > PATIENCE.toNanos()) {
                fail(what + ": not within " + PATIENCE.toSeconds() + " s");
            }
            LockSupport.parkNanos(2_000_000L);
        }
    }

    /** Waits for a future; its failure is thrown as {@link CompletionException}. */
    static <T> T join(CompletableFuture<T> future) {
        try {
            return future.orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS).join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof TimeoutException) {
                return fail("a future was not completed within " + PATIENCE.toSeconds() + " s", e);
            }
            throw e;
        }
    }

    /** Lets time pass until so long after a moment: for tests of what must not happen before. */
    static void sleepUntil(long startAtNanos, Duration after) {
        while (System.nanoTime() - startAtNanos < after.toNanos()) {
            LockSupport.parkNanos(after.toNanos() - (System.nanoTime() - startAtNanos));
        }
    }

    void close() {
        while (!opened.isEmpty()) {
            try {
                opened.pop().close();
            } catch (Exception e) {
                LOG.warn("closing after test {} failed", test, e);
            }
        }
    }
}
