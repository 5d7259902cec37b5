package io.leasehold.simulator.proxy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * A TCP proxy on 127.0.0.1 that a test puts between a client and a real server, to do to the connection what networks do.
 *
 * <p>Faults of a direction ({@link #toServer()}, {@link #toClient()}) hold for all present and future connections until
 * {@link #heal()}; resets and half-opening happen once, to the connections that are open. A method returns when its fault is
 * in force: what is sent after that suffers it. {@link #connections()} and {@link Direction#traffic()} tell whether the
 * fault really touched anything.
 *
 * <p>A proxy in user space accepts before it connects, and cannot lose single packets: there is no black hole for the
 * handshake itself, and within a connection bytes are never reordered or doubled, as TCP would not either.
 *
 * <p>Needs one daemon thread for any number of connections. Safe for use by any thread; methods wait for that thread, and no
 * wait is interruptible, since none is long.
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

    /** A proxy on any free port in front of a server on 127.0.0.1. */
    public static TcpProxy to(int port) {
        return to(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    }

    /** A proxy on any free port in front of a server. */
    public static TcpProxy to(InetSocketAddress server) {
        return to(server, 0, 1);
    }

    /**
     * A proxy on a given port.
     *
     * @param listenPort the port on 127.0.0.1, 0 for any that is free
     * @param seed from which the jitter of delays is drawn
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

    /** Leads connections that are opened from now on to another server. */
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

    /** Holds everything back in both directions: a partition during which nothing is lost. */
    public TcpProxy stall() {
        return both(Direction::stall);
    }

    /** Ends {@link #stall()}: what was held back is delivered. */
    public TcpProxy resume() {
        return both(Direction::resume);
    }

    /** Swallows everything in both directions: a partition that outlives the connections. */
    public TcpProxy drop() {
        return both(Direction::drop);
    }

    /** Delays both directions; a round trip takes twice as much longer. */
    public TcpProxy delay(Duration delay) {
        return both(direction -> direction.delay(delay));
    }

    /** Makes the kernel refuse new connections; those that are open stay. */
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
     * Resets the server's side of every open connection without telling the client: the client still relies on a
     * connection that leads nowhere, as after a crash of the server's machine.
     */
    public TcpProxy halfOpenForClients() {
        loop.run(() -> loop.halfOpenAll(ProxyConnection::halfOpenForClient));
        return this;
    }

    /** Resets the client's side of every open connection without telling the server, as after a crash of its machine. */
    public TcpProxy halfOpenForServer() {
        loop.run(() -> loop.halfOpenAll(ProxyConnection::halfOpenForServer));
        return this;
    }

    /**
     * Lets the next request through to the server, waits for its reply, and resets the client instead of delivering it:
     * reset after send and before reply. For RESP only; see {@link #loseNextReplyTo}.
     */
    public ScheduledLoss resetAfterNextRequest() {
        return loseNextReplyTo(request -> true);
    }

    /**
     * Lets the next request that matches through, and resets the client instead of delivering the reply; so the server is
     * known to have acted. Replies to earlier requests of the connection are delivered.
     *
     * <p>Works for RESP2 and RESP3, pipelined or not, on connections opened before or after; not on RESP2 connections that
     * have subscribed.
     *
     * @param request is shown each complete request as it stands on the wire, one char per byte; runs on the proxy's thread
     */
    public ScheduledLoss loseNextReplyTo(Predicate<String> request) {
        return schedule(ScheduledLoss.Kind.REPLY_THEN_RESET, request);
    }

    /**
     * As {@link #loseNextReplyTo}, but the connection falls silent towards the client instead of being reset: no word comes
     * from the server on it any more, though requests still reach it.
     */
    public ScheduledLoss silenceFromNextReplyTo(Predicate<String> request) {
        return schedule(ScheduledLoss.Kind.REPLY_THEN_SILENCE, request);
    }

    /**
     * Loses the next message that matches on a RESP2 connection that has subscribed, as a relay would that drops it: the
     * server has sent it, and the connection stays whole.
     *
     * @param message is shown each message as it stands on the wire, one char per byte; runs on the proxy's thread
     */
    public ScheduledLoss loseNextPush(Predicate<String> message) {
        return schedule(ScheduledLoss.Kind.PUSH, message);
    }

    /** Resets the client instead of passing on the next request that matches; the server never acts on it. */
    public ScheduledLoss loseNextRequest(Predicate<String> request) {
        return schedule(ScheduledLoss.Kind.REQUEST_THEN_RESET, request);
    }

    /**
     * Ends every fault: what a stall held back is delivered, connections are accepted, losses that have not
     * met their request are forgotten, and connections that lost bytes or are half open are reset.
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

    // Both at once: no byte sees one direction changed and the other not.
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
