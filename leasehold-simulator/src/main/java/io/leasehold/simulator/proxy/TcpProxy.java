package io.leasehold.simulator.proxy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * A TCP proxy on 127.0.0.1 that a test puts between a client and a real server, to inject the faults of real networks.
 *
 * <p>Faults of a direction ({@link #toServer()}, {@link #toClient()}) apply to all present and future connections until
 * {@link #heal()}; resets and half-opening happen once, to the open connections. A method returns when its fault is in
 * force: it affects everything that is sent after that. {@link #connections()} and {@link Direction#traffic()} show
 * whether the fault had any effect.
 *
 * <p>A proxy in user space accepts before it connects, and cannot lose single packets. So it has no black hole for the
 * handshake itself, and never reorders or duplicates bytes within a connection, like TCP.
 *
 * <p>Uses one daemon thread for any number of connections. Any thread may use it; methods wait for the daemon thread,
 * and their waits are short and not interruptible.
 */
public final class TcpProxy implements AutoCloseable {
    private final ProxyLoop loop;
    private final Direction toServer;
    private final Direction toClient;

    private TcpProxy(ProxyLoop loop) {
        this.loop = loop;
        this.toServer = new Direction(loop, "client to server", loop.toServer());
        this.toClient = new Direction(loop, "server to client", loop.toClient());
    }

    /** Creates a proxy on any free port in front of a server on 127.0.0.1. */
    public static TcpProxy to(int port) {
        return to(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    }

    /** Creates a proxy on any free port in front of a server. */
    public static TcpProxy to(InetSocketAddress server) {
        return to(server, 0, 1);
    }

    /**
     * Creates a proxy on a given port.
     *
     * @param listenPort the port on 127.0.0.1; 0 means any free one
     * @param seed determines the jitter of delays
     * @throws UncheckedIOException if the port is taken
     */
    public static TcpProxy to(InetSocketAddress server, int listenPort, long seed) {
        try {
            return new TcpProxy(ProxyLoop.start(server, listenPort, seed));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot listen on port " + listenPort + " of 127.0.0.1", e);
        }
    }

    /** The port on which clients are served. */
    public int port() {
        return loop.port();
    }

    /** The address at which clients are served. */
    public InetSocketAddress address() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), port());
    }

    /** Connects connections that are opened from now on to another server. */
    public TcpProxy retarget(InetSocketAddress server) {
        loop.run(() -> loop.retarget(server));
        return this;
    }

    /** The direction of requests. */
    public Direction toServer() {
        return toServer;
    }

    /** The direction of replies. */
    public Direction toClient() {
        return toClient;
    }

    /** Holds back everything in both directions: a partition during which nothing is lost. */
    public TcpProxy stall() {
        return both(Direction::stall);
    }

    /** Ends {@link #stall()}: delivers the held-back bytes. */
    public TcpProxy resume() {
        return both(Direction::resume);
    }

    /** Swallows everything in both directions: a partition that outlives the connections. */
    public TcpProxy drop() {
        return both(Direction::drop);
    }

    /** Delays both directions, so a round trip takes twice this time longer. */
    public TcpProxy delay(Duration delay) {
        return both(direction -> direction.delay(delay));
    }

    /** Makes the kernel refuse new connections; open ones stay. */
    public TcpProxy refuseConnections() {
        loop.run(() -> unchecked(loop::refuse));
        return this;
    }

    /** Ends {@link #refuseConnections()}. */
    public TcpProxy acceptConnections() {
        loop.run(() -> unchecked(loop::accept));
        return this;
    }

    /** Resets both sides of every open connection. */
    public TcpProxy resetAll() {
        loop.run(loop::resetAll);
        return this;
    }

    /**
     * Resets the server's side of every open connection without notifying the client. The client still relies on a
     * connection to nowhere, as after a crash of the server's machine.
     */
    public TcpProxy halfOpenForClients() {
        loop.run(() -> loop.halfOpenAll(ProxyConnection::halfOpenForClient));
        return this;
    }

    /**
     * Resets the client's side of every open connection without notifying the server, as after a crash of the client's
     * machine.
     */
    public TcpProxy halfOpenForServer() {
        loop.run(() -> loop.halfOpenAll(ProxyConnection::halfOpenForServer));
        return this;
    }

    /**
     * Forwards the next request to the server, waits for its reply, and resets the client instead of delivering it:
     * reset after send and before reply. For RESP only; see {@link #loseNextReplyTo}.
     */
    public ScheduledLoss resetAfterNextRequest() {
        return loseNextReplyTo(request -> true);
    }

    /**
     * Forwards the next matching request, and resets the client instead of delivering the reply, so the server is known
     * to have acted. Replies to earlier requests of the connection are delivered.
     *
     * <p>Works for RESP2 and RESP3, pipelined or not, on present and future connections; not on RESP2 connections that
     * have subscribed.
     *
     * @param request receives each complete request in its wire form, one char per byte; runs on the proxy's thread
     */
    public ScheduledLoss loseNextReplyTo(Predicate<String> request) {
        return schedule(ScheduledLoss.Kind.REPLY_THEN_RESET, request);
    }

    /**
     * As {@link #loseNextReplyTo}, but the connection falls silent towards the client instead of being reset: no more
     * bytes come from the server, though requests still reach it.
     */
    public ScheduledLoss silenceFromNextReplyTo(Predicate<String> request) {
        return schedule(ScheduledLoss.Kind.REPLY_THEN_SILENCE, request);
    }

    /**
     * Loses the next matching message on a RESP2 connection that has subscribed, like a relay that drops it: the server
     * has sent it, and the connection stays intact.
     *
     * @param message receives each message in its wire form, one char per byte; runs on the proxy's thread
     */
    public ScheduledLoss loseNextPush(Predicate<String> message) {
        return schedule(ScheduledLoss.Kind.PUSH, message);
    }

    /** Resets the client instead of forwarding the next matching request; the server never acts on it. */
    public ScheduledLoss loseNextRequest(Predicate<String> request) {
        return schedule(ScheduledLoss.Kind.REQUEST_THEN_RESET, request);
    }

    /**
     * Ends every fault: delivers held-back bytes, accepts connections, forgets losses that have not met their request,
     * and resets connections that lost bytes or are half open.
     */
    public TcpProxy heal() {
        loop.run(() -> unchecked(loop::healAll));
        return this;
    }

    /** The counts of connections so far. */
    public Connections connections() {
        return loop.call(loop::counts);
    }

    /** Closes all connections and the port; counters stay readable. */
    @Override
    public void close() {
        loop.close();
    }

    @Override
    public String toString() {
        return "proxy on 127.0.0.1:" + port();
    }

    private ScheduledLoss schedule(ScheduledLoss.Kind kind, Predicate<String> request) {
        ScheduledLoss loss = new ScheduledLoss(kind, request);
        loop.run(() -> loop.scheduledLosses().add(loss));
        return loss;
    }

    // Both at once: each byte sees the change in both directions, or in neither.
    private TcpProxy both(Consumer<Direction> change) {
        loop.run(() -> {
            change.accept(toServer);
            change.accept(toClient);
        });
        return this;
    }

    private static void unchecked(SocketAction action) {
        try {
            action.run();
        } catch (IOException e) {
            throw new UncheckedIOException("the proxy cannot change its port", e);
        }
    }

    private interface SocketAction {
        void run() throws IOException;
    }
}
