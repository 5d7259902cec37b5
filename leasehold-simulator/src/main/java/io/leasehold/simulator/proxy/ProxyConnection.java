package io.leasehold.simulator.proxy;

import java.io.IOException;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;

/** One client's connection and its connection to the target. Used only by the loop's thread. */
final class ProxyConnection {
    private final ProxyLoop loop;
    private final SocketChannel client;
    private final SocketChannel server;
    private final SelectionKey clientKey;
    private final SelectionKey serverKey;
    private final Flow toServer;
    private final Flow toClient;
    private final RespExchange exchange;
    private final PushFilter pushes;
    private boolean connected;
    private boolean cut;

    ProxyConnection(ProxyLoop loop, Selector selector, SocketChannel client) throws IOException {
        this.loop = loop;
        this.client = client;
        this.server = SocketChannel.open();
        this.exchange = new RespExchange(loop.scheduledLosses());
        this.pushes = new PushFilter(loop.scheduledLosses());
        this.toServer = new Flow(this, loop, loop.toServer(), client, server);
        this.toClient = new Flow(this, loop, loop.toClient(), server, client);
        for (SocketChannel side : new SocketChannel[] {client, server}) {
            side.configureBlocking(false);
            side.setOption(StandardSocketOptions.TCP_NODELAY, true);
        }
        clientKey = client.register(selector, 0, this);
        serverKey = server.register(selector, SelectionKey.OP_CONNECT, this);
    }

    /** Opens the server's side; until then nothing is read from the client. */
    void connect(SocketAddress target) {
        try {
            connected = server.connect(target);
            settle();
        } catch (IOException refused) {
            unreachable();
        }
    }

    /** Handles the operations that the selector found ready. */
    void ready(SelectionKey key) {
        if (key == serverKey && key.isValid() && key.isConnectable()) {
            finishConnect();
        }
        if (key.isValid() && key.isReadable()) {
            (key == clientKey ? toServer : toClient).read();
        }
        if (key.isValid() && key.isWritable()) {
            (key == clientKey ? toClient : toServer).deliver();
        }
        settle();
    }

    /** Delivers the bytes that a change of faults or the passing of time has freed. */
    void deliver() {
        toServer.deliver();
        toClient.deliver();
        settle();
    }

    Flow opposite(Flow flow) {
        return flow == toServer ? toClient : toServer;
    }

    /** The chunk without the messages to be lost. */
    byte[] withoutLostPushes(Flow flow, byte[] chunk) {
        return flow == toClient && exchange.isSubscribed() ? pushes.passing(chunk) : chunk;
    }

    int bytesThatPass(Flow flow, byte[] chunk) {
        return flow == toServer ? exchange.requestBytesThatPass(chunk) : exchange.replyBytesThatPass(chunk);
    }

    @Nullable
    ScheduledLoss pendingLoss() {
        return exchange.pending();
    }

    /** The message to be lost has been withheld, and all earlier ones were delivered. */
    void lose(@Nullable ScheduledLoss loss) {
        if (loss == null) {
            return;
        }
        loop.countLoss(loss);
        if (loss.kind() == ScheduledLoss.Kind.REPLY_THEN_SILENCE) {
            toClient.hole();
        } else {
            cut();
        }
        loss.markHappened();
    }

    /**
     * Resets the client, while the server receives everything sent so far and then an orderly end: a reset would make
     * its kernel discard unread bytes.
     */
    void cut() {
        loop.countReset();
        cut = true;
        closeByReset(client);
        toServer.hole();
        toClient.hole();
        try {
            server.shutdownOutput();
        } catch (IOException alreadyGone) {
            closeByReset(server);
        }
    }

    /** Resets both sides. */
    void reset() {
        closeByReset(client);
        closeByReset(server);
        settle();
    }

    /** Resets the server's side; the client still believes that it is connected. */
    void halfOpenForClient() {
        closeByReset(server);
        toServer.hole();
        toClient.hole();
        settle();
    }

    /** Resets the client's side; the server still believes that it is connected. */
    void halfOpenForServer() {
        closeByReset(client);
        toServer.hole();
        toClient.hole();
        settle();
    }

    /** Whether the stream of a direction has a hole, and a peer still waits for the rest. */
    boolean isHoled(DirectionFaults direction) {
        Flow flow = toServer.direction() == direction ? toServer : toClient;
        return flow.isHoled() && !cut;
    }

    void endSink(SocketChannel sink) {
        try {
            sink.shutdownOutput();
        } catch (IOException alreadyGone) {
            closeByReset(sink);
        }
    }

    void resetSink(SocketChannel sink) {
        closeByReset(sink);
    }

    private void finishConnect() {
        try {
            connected = server.finishConnect();
        } catch (IOException refused) {
            unreachable();
        }
    }

    private void unreachable() {
        loop.countUnreachable();
        reset();
    }

    /** Sets the interest of the selector, and leaves the loop when nothing more can happen. */
    private void settle() {
        if (isOver()) {
            close(client);
            close(server);
            loop.remove(this);
        } else if (connected) {
            setInterest(clientKey, toServer, toClient);
            setInterest(serverKey, toClient, toServer);
        }
    }

    // Both sides ended in order, or one side is gone and the other is gone, too, by itself or because it was notified.
    // A side that was not notified stays: that is the meaning of half open.
    private boolean isOver() {
        return (toServer.isFinished() && toClient.isFinished())
                || (!client.isOpen() && (!server.isOpen() || toClient.hasSourceEnded()))
                || (!server.isOpen() && toServer.hasSourceEnded());
    }

    private static void setInterest(SelectionKey key, Flow reads, Flow writes) {
        if (key.isValid()) {
            key.interestOps(
                    (reads.wantsRead() ? SelectionKey.OP_READ : 0) | (writes.wantsWrite() ? SelectionKey.OP_WRITE : 0));
        }
    }

    private static void closeByReset(SocketChannel channel) {
        try {
            if (channel.isOpen()) {
                channel.setOption(StandardSocketOptions.SO_LINGER, 0);
            }
        } catch (IOException notConnected) {
            // It can only be closed.
        }
        close(channel);
    }

    private static void close(SocketChannel channel) {
        try {
            channel.close();
        } catch (IOException e) {
            throw new IllegalStateException("cannot close a socket", e);
        }
    }
}
