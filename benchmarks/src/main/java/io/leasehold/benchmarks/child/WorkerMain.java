package io.leasehold.benchmarks.child;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.leasehold.benchmarks.measure.Drive;
import io.leasehold.benchmarks.measure.Load;
import io.leasehold.benchmarks.measure.Threads;
import io.leasehold.benchmarks.peer.Peer;
import io.leasehold.benchmarks.peer.PeerKind;
import io.netty.util.internal.PlatformDependent;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A child JVM: carries out the orders that arrive on its standard input, and ends when that does. */
public final class WorkerMain {

    private static final long MIN_HOLD_NANOS = TimeUnit.MILLISECONDS.toNanos(4);
    private static final long MAX_HOLD_NANOS = TimeUnit.MILLISECONDS.toNanos(6);
    private static final long STEP_BACK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final int MIN_HOLDS = 10;
    private static final int COLLECTIONS = 4;
    private static final int NAMES = 10_000;
    private static final int USES = 500;

    /** A client of a peer for each requested ttl. */
    private record Opened(PeerKind kind, long ttlMillis) {}

    private final String uri;
    private final Map<Opened, Peer> peers = new HashMap<>();

    private WorkerMain(String uri) {
        this.uri = uri;
    }

    /** Argument: the URI of the server. */
    public static void main(String[] args) throws IOException {
        ObjectMapper json = new ObjectMapper();
        WorkerMain worker = new WorkerMain(args[0]);
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.out.println(Worker.READY);
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            Order order = json.readValue(line, Order.class);
            System.out.println(Worker.ANSWER + json.writeValueAsString(worker.carryOut(order)));
        }
        System.exit(0);
    }

    private Answer carryOut(Order order) {
        try {
            Peer peer = peers.computeIfAbsent(
                    new Opened(order.peer(), order.ttlMillis()),
                    key -> key.kind().open(uri, Duration.ofMillis(key.ttlMillis())));
            return switch (order.verb()) {
                case PAIRS -> Answer.of(drive(peer, order, order.lengthNanos()));
                case DISTINCT -> Answer.of(distinct(peer, order));
                case ONCE -> Answer.of(drive(peer, order, 1));
                case HAND_OVERS -> Answer.of(handOvers(peer, order));
                case HOLDS -> Answer.of(holds(peer, order));
                case HEAP -> Answer.of(bytesPerLease(peer, order));
                case FURTHER_CLIENTS -> Answer.of(furtherClients(peer, order));
            };
        } catch (RuntimeException e) {
            return Answer.failed(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Answer.failed(e);
        }
    }

    private static Load drive(Peer peer, Order order, long lengthNanos) throws InterruptedException {
        return new Drive(peer, order.count(), Threads.platform())
                .run(thread -> order::name, order.startAtNanos(), lengthNanos);
    }

    private static Load distinct(Peer peer, Order order) throws InterruptedException {
        return new Drive(peer, order.count(), Threads.platform())
                .run(
                        thread -> {
                            int[] next = {0};
                            return () -> order.name() + "-" + thread + "-" + (next[0]++ % NAMES);
                        },
                        order.startAtNanos(),
                        order.lengthNanos());
    }

    /** Waits after each hold, so that the other process, which is waiting by then, gets the lock. */
    private static List<Span> handOvers(Peer peer, Order order) throws InterruptedException {
        SplittableRandom random = new SplittableRandom(order.startAtNanos());
        List<Span> spans = new ArrayList<>();
        LockSupport.parkNanos(order.startAtNanos() - System.nanoTime());
        long end = order.startAtNanos() + order.lengthNanos();
        while (System.nanoTime() - end < 0 || spans.size() < MIN_HOLDS) {
            long requested = System.nanoTime();
            Peer.Held held = peer.acquire(order.name());
            long acquired = System.nanoTime();
            LockSupport.parkNanos(random.nextLong(MIN_HOLD_NANOS, MAX_HOLD_NANOS));
            long releasing = System.nanoTime();
            held.release();
            spans.add(new Span(requested, acquired, releasing));
            LockSupport.parkNanos(STEP_BACK_NANOS);
        }
        return spans;
    }

    private static Load holds(Peer peer, Order order) throws InterruptedException {
        Peer slow = new Peer() {
            @Override
            public Held acquire(String name) throws InterruptedException {
                Held held = peer.acquire(name);
                LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(MIN_HOLD_NANOS, MAX_HOLD_NANOS));
                return () -> {
                    held.release();
                    LockSupport.parkNanos(STEP_BACK_NANOS);
                };
            }

            @Override
            public String keyOf(String name) {
                return peer.keyOf(name);
            }

            @Override
            public void close() {}
        };
        return drive(slow, order, order.lengthNanos());
    }

    private static double bytesPerLease(Peer peer, Order order) throws InterruptedException {
        for (int i = 0; i < order.count() / 10; i++) {
            peer.acquire(order.name() + "-warm-" + i).release();
        }
        List<Peer.Held> held = new ArrayList<>(order.count());
        try {
            long before = usedBytes();
            for (int i = 0; i < order.count(); i++) {
                held.add(peer.acquire(order.name() + i));
            }
            return (double) (usedBytes() - before) / order.count();
        } finally {
            // Not released: this process is not used any more, and the list keeps all holds reachable until here.
            Reference.reachabilityFence(held);
        }
    }

    /** They stay open: this process is of no further use. */
    private ClientCost furtherClients(Peer first, Order order) throws InterruptedException {
        use(first, order.name());
        double threads = liveThreads();
        double directBytes = directBytes();
        for (int i = 0; i < order.count(); i++) {
            use(order.peer().open(uri, Duration.ofMillis(order.ttlMillis())), order.name());
        }
        return new ClientCost((liveThreads() - threads) / order.count(), (directBytes() - directBytes) / order.count());
    }

    private static void use(Peer peer, String name) throws InterruptedException {
        for (int i = 0; i < USES; i++) {
            peer.acquire(name).release();
        }
    }

    private static double liveThreads() {
        return ManagementFactory.getThreadMXBean().getThreadCount();
    }

    /** Netty counts the memory that it allocates past the JVM's own buffers. */
    private static double directBytes() {
        double pools = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .mapToLong(BufferPoolMXBean::getMemoryUsed)
                .sum();
        return pools + Math.max(0, PlatformDependent.usedDirectMemory());
    }

    private static long usedBytes() throws InterruptedException {
        Runtime runtime = Runtime.getRuntime();
        for (int i = 0; i < COLLECTIONS; i++) {
            System.gc();
            TimeUnit.MILLISECONDS.sleep(50);
        }
        return runtime.totalMemory() - runtime.freeMemory();
    }
}
