package io.leasehold.simulator.proxy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The single thread of a proxy: owns all sockets, faults and counters, and runs the requests of other threads.
 *
 * <p>Every external request is a task that the loop runs between two selections; the caller waits until it has run and
 * its effect on sockets has reached the kernel. So no state here needs a lock.
 */
final class ProxyLoop {
    private static final Logger LOG = LoggerFactory.getLogger(ProxyLoop.class);

    private final Selector selector;
    private final Thread thread;
    private final LoopTasks tasks = new LoopTasks();
    private final PriorityQueue<Wake> wakes = new PriorityQueue<>();
    private final Set<ProxyConnection> connections = new LinkedHashSet<>();
    private final List<ScheduledLoss> scheduledLosses = new ArrayList<>();
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(64 * 1024);
    private final DirectionFaults toServer;
    private final DirectionFaults toClient;
    private int port;
    private SocketAddress target;
    private @Nullable ServerSocketChannel listener;
    private @Nullable Socket placeholder;
    private volatile boolean closing;
    private long accepted;
    private long unreachable;
    private long resets;
    private long halfOpened;
    private long requestsLost;
    private long repliesLost;

    /** A time at which a flow has something to deliver. */
    private record Wake(long atNanos, Flow flow) implements Comparable<Wake> {
        @Override
        public int compareTo(Wake other) {
            return Long.signum(atNanos - other.atNanos);
        }
    }

    private ProxyLoop(SocketAddress target, Selector selector, long seed) {
        this.target = target;
        this.selector = selector;
        SplittableRandom random = new SplittableRandom(seed);
        this.toServer = new DirectionFaults(random);
        this.toClient = new DirectionFaults(random);
        this.thread = new Thread(this::loop, "leasehold-proxy");
        thread.setDaemon(true);
    }

    /** Listens on the port of 127.0.0.1 (0 means any), and starts the thread. */
    static ProxyLoop start(SocketAddress target, int port, long seed) throws IOException {
        Selector selector = Selector.open();
        try {
            ProxyLoop loop = new ProxyLoop(target, selector, seed);
            loop.port = loop.listen(port);
            loop.thread.start();
            return loop;
        } catch (IOException e) {
            selector.close();
            throw e;
        }
    }

    int port() {
        return port;
    }

    DirectionFaults toServer() {
        return toServer;
    }

    DirectionFaults toClient() {
        return toClient;
    }

    /** Runs the action on the loop's thread and waits until it has run. */
    void run(Runnable action) {
        call(() -> {
            action.run();
            return true;
        });
    }

    <T> T call(Supplier<T> action) {
        if (Thread.currentThread() == thread) {
            return action.get();
        }
        return tasks.call(action, selector::wakeup);
    }

    void close() {
        closing = true;
        selector.wakeup();
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    // ---- only the loop's thread runs the following ----

    long nanoTime() {
        return System.nanoTime();
    }

    ByteBuffer buffer() {
        return buffer.clear();
    }

    List<ScheduledLoss> scheduledLosses() {
        return scheduledLosses;
    }

    void wakeAt(long atNanos, Flow flow) {
        wakes.add(new Wake(atNanos, flow));
    }

    void remove(ProxyConnection connection) {
        connections.remove(connection);
    }

    void retarget(SocketAddress newTarget) {
        target = newTarget;
    }

    void countReset() {
        resets++;
    }

    void countUnreachable() {
        unreachable++;
    }

    void countLoss(ScheduledLoss loss) {
        if (loss.kind() == ScheduledLoss.Kind.REQUEST_THEN_RESET) {
            requestsLost++;
        } else {
            repliesLost++;
        }
    }

    Connections counts() {
        return new Connections(
                accepted, connections.size(), unreachable, resets, halfOpened, requestsLost, repliesLost);
    }

    void resetAll() {
        forEachConnection(connection -> {
            resets++;
            connection.reset();
        });
    }

    void halfOpenAll(Consumer<ProxyConnection> how) {
        forEachConnection(connection -> {
            halfOpened++;
            how.accept(connection);
        });
    }

    void directionChanged() {
        forEachConnection(ProxyConnection::deliver);
    }

    void directionHealed(DirectionFaults direction) {
        forEachConnection(connection -> healConnection(connection, connection.isHoled(direction)));
    }

    void healAll() throws IOException {
        toServer.heal();
        toClient.heal();
        scheduledLosses.clear();
        forEachConnection(
                connection -> healConnection(connection, connection.isHoled(toServer) || connection.isHoled(toClient)));
        accept();
    }

    private void healConnection(ProxyConnection connection, boolean holed) {
        if (holed) {
            resets++;
            connection.reset();
        } else {
            connection.deliver();
        }
    }

    /**
     * Closes the listening socket, so that the kernel refuses connections. A socket that is bound but does not listen
     * keeps the port.
     */
    void refuse() throws IOException {
        if (listener == null) {
            return;
        }
        listener.close();
        listener = null;
        selector.selectNow();
        Socket bound = new Socket();
        bound.setReuseAddress(true);
        bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        placeholder = bound;
    }

    void accept() throws IOException {
        if (placeholder != null) {
            placeholder.close();
            placeholder = null;
        }
        if (listener == null) {
            listen(port);
        }
    }

    private int listen(int wantedPort) throws IOException {
        ServerSocketChannel channel = ServerSocketChannel.open();
        try {
            channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            channel.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), wantedPort), 1024);
            channel.configureBlocking(false);
            channel.register(selector, SelectionKey.OP_ACCEPT);
            listener = channel;
            return channel.socket().getLocalPort();
        } catch (IOException e) {
            channel.close();
            throw e;
        }
    }

    private void loop() {
        try {
            while (!closing) {
                selector.select(this::ready, patienceMillis());
                runTasks();
                wakeFlows();
            }
        } catch (IOException | RuntimeException e) {
            LOG.error("The proxy on port {} has failed and is closed", port, e);
        } finally {
            closeAll();
            tasks.end();
        }
    }

    private void ready(SelectionKey key) {
        if (!key.isValid()) {
            return;
        }
        if (key.attachment() instanceof ProxyConnection connection) {
            guarded(connection, () -> connection.ready(key));
        } else {
            acceptOne();
        }
    }

    private void acceptOne() {
        if (listener == null) {
            return;
        }
        try {
            SocketChannel client = listener.accept();
            if (client != null) {
                accepted++;
                open(client);
            }
        } catch (IOException e) {
            unreachable++;
            LOG.warn("The proxy on port {} cannot serve a connection to {}", port, target, e);
        }
    }

    private void open(SocketChannel client) throws IOException {
        try {
            ProxyConnection connection = new ProxyConnection(this, selector, client);
            connections.add(connection);
            guarded(connection, () -> connection.connect(target));
        } catch (IOException e) {
            client.close();
            throw e;
        }
    }

    // An error on one connection must not end the others; the connection itself is over.
    private void guarded(ProxyConnection connection, Runnable action) {
        try {
            action.run();
        } catch (RuntimeException e) {
            LOG.error("A connection of the proxy on port {} has failed and is reset", port, e);
            connection.reset();
        }
    }

    private void forEachConnection(Consumer<ProxyConnection> action) {
        for (ProxyConnection connection : List.copyOf(connections)) {
            guarded(connection, () -> action.accept(connection));
        }
    }

    private void runTasks() throws IOException {
        List<LoopTasks.Task<?>> present = tasks.take();
        if (present.isEmpty()) {
            return;
        }
        present.forEach(LoopTasks.Task::run);
        // Only the next selection really closes a registered channel.
        selector.selectNow(this::ready);
        present.forEach(LoopTasks.Task::tell);
    }

    private void wakeFlows() {
        while (!wakes.isEmpty() && wakes.peek().atNanos - nanoTime() <= 0) {
            Flow flow = wakes.remove().flow;
            flow.woken();
            guarded(flow.connection(), flow.connection()::deliver);
        }
    }

    private long patienceMillis() {
        Wake next = wakes.peek();
        // Rounded up, and never 0, which would mean no limit.
        return next == null ? 0 : Math.max(1, (next.atNanos - nanoTime() + 999_999) / 1_000_000);
    }

    private void closeAll() {
        for (SelectionKey key : selector.keys()) {
            try {
                key.channel().close();
            } catch (IOException e) {
                LOG.warn("The proxy on port {} cannot close a socket", port, e);
            }
        }
        connections.clear();
        try {
            if (placeholder != null) {
                placeholder.close();
            }
            selector.close();
        } catch (IOException e) {
            LOG.warn("The proxy on port {} cannot close its selector", port, e);
        }
    }
}
