package io.leasehold.simulator.proxy;

import java.io.IOException;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;

/** One client's connection and the one to the target that belongs to it. Belongs to the loop's thread. */
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

    /** Opens the side of the server; until that has happened nothing is read from the client. */
    void connect(SocketAddress target) {
        try {
            connected = server.connect(target);
            settle();
        } catch (IOException refused) {
            unreachable();
        }
    }

    /** Does what the selector found possible. */
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

    /** Delivers what a change of faults or the passing of time has set free. */
    void deliver() {
        toServer.deliver();
        toClient.deliver();
        settle();
    }

    Flow opposite(Flow flow) {
        return flow == toServer ? toClient : toServer;
    }

    /** The chunk without the messages that are to be lost. */
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

    /** The message that was to be lost has been withheld, and all before it was delivered. */
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
     * Resets the client, while the server gets everything sent to it so far and then an orderly end: a reset would make
     * its kernel throw away what it has not read yet.
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

    /** Resets the server's side and leaves the client in the belief that it is connected. */
    void halfOpenForClient() {
        closeByReset(server);
        toServer.hole();
        toClient.hole();
        settle();
    }

    /** Resets the client's side and leaves the server in the belief that it is connected. */
    void halfOpenForServer() {
        closeByReset(client);
        toServer.hole();
        toClient.hole();
        settle();
    }

    /** Whether the stream of a direction has a hole, and a peer that still waits for the rest of it. */
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

    /** Sets the interest of the selector, and leaves the loop when there is nothing more to come. */
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

    // Over in order, or with one side gone and the other gone too, by itself or by what it was told. A side that has
    // not
    // been told stays, since that is what half open means.
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
            // Closing is all that can be done with it.
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
