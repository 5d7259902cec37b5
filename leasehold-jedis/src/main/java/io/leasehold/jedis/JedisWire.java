package io.leasehold.jedis;

import io.leasehold.redis.wire.NotSentException;
import io.leasehold.redis.wire.ServerRefusal;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * One connection of Jedis for one life of it, with two threads: one writes what is asked, in the order in which it was asked, the other
 * reads what comes. Nobody else waits for the server.
 *
 * <p>Answers belong to requests by their order, so one that is late is still the answer to its own request and to no other. It is told
 * of on the reading thread, and so is the end. What has not been written by then was never sent; of the rest nothing is known.
 * State is guarded by {@code this}.
 */
final class JedisWire {

    private static final Logger LOG = LoggerFactory.getLogger(JedisWire.class);

    private final Connection connection;
    private final Reader reader;
    private final Deque<Outbound> unwritten = new ArrayDeque<>();
    private final List<Runnable> listeners = new ArrayList<>();
    private boolean writing;
    /** No more is taken on, and the socket is closed or about to be. */
    private boolean ending;
    /** The requests in flight have been told of the end. */
    private boolean ended;

    /** Commands that are sent together. */
    interface Outbound {
        /** The commands. */
        List<CommandArguments> commands();

        /** The next thing that is done is to write it; what is answered from now on may belong to it. */
        void leaves();

        /** It was never sent. */
        void staysUnsent(NotSentException why);
    }

    /** The owner of a connection, who hears on the reading thread. */
    interface Reader {
        /** The server has answered, or pushed, this. */
        void came(@Nullable Object item);

        /** The server has answered with an error. */
        void refused(ServerRefusal refusal);

        /** Nothing comes any more; what was written and is not answered is lost. */
        void ended(@Nullable RuntimeException why);
    }

    /** Over a connection that is logged in, and has no other use from now on. */
    JedisWire(Connection connection, Reader reader) {
        this.connection = connection;
        this.reader = reader;
    }

    /** Begins to write and to read. */
    void start(JedisThreads threads) {
        // Silence is judged by those who wait, and not by the socket.
        connection.setSoTimeout(0);
        threads.start("reads", this::read);
        threads.start("writes", this::write);
    }

    /** Sends commands, or tells that they stay unsent. */
    void send(Outbound outbound) {
        synchronized (this) {
            if (!ending) {
                unwritten.add(outbound);
                notifyAll();
                return;
            }
        }
        outbound.staysUnsent(notSent());
    }

    private static NotSentException notSent() {
        return new NotSentException("Connection is closed", null);
    }

    boolean isOpen() {
        synchronized (this) {
            return !ending;
        }
    }

    /** Tells of the end, on the reading thread; at once if it has come. */
    void onEnd(Runnable listener) {
        synchronized (this) {
            if (!ended) {
                listeners.add(listener);
                return;
            }
        }
        listener.run();
    }

    /** Ends it; also where the writing thread stands still, since the server takes nothing. */
    void close(JedisThreads threads) {
        boolean stuck;
        synchronized (this) {
            if (ending) {
                return;
            }
            ending = true;
            stuck = writing;
            notifyAll();
        }
        if (stuck) {
            // Closing a TLS socket may wait for the write that is under way, so it is nothing for the thread that asks
            // for it.
            try {
                threads.start("ends", this::disconnect);
            } catch (Error e) {
                // The system has no more threads.
                LOG.debug("a connection is ended by the caller that asked for it", e);
                disconnect();
            }
        }
    }

    private void disconnect() {
        disconnect(connection);
    }

    static void disconnect(Connection connection) {
        try {
            connection.forceDisconnect();
        } catch (Exception e) {
            LOG.debug("a connection did not end in order", e);
        }
    }

    private void write() {
        try {
            boolean buffered = false;
            while (awaitWork(buffered)) {
                Outbound next = next();
                if (next != null) {
                    next.commands().forEach(connection::sendCommand);
                    buffered = true;
                } else {
                    // It writes out what is buffered, and reads nothing.
                    connection.getMany(0);
                    buffered = false;
                }
            }
        } catch (RuntimeException e) {
            LOG.debug("a connection cannot be written to", e);
        } finally {
            synchronized (this) {
                ending = true;
                writing = false;
            }
            // Again, should it have been ended in the middle of a write: Jedis connects anew to send over a socket that
            // is closed. What was sent like that was sent once, and counts as lost.
            disconnect();
        }
    }

    /** Waits for something to send, or to write out; false at the end. */
    private synchronized boolean awaitWork(boolean buffered) {
        writing = false;
        while (unwritten.isEmpty() && !buffered && !ending) {
            try {
                wait();
            } catch (InterruptedException e) {
                // Nobody has a reason to; the thread ends with its connection.
                ending = true;
            }
        }
        writing = !ending;
        return writing;
    }

    /** Takes the next command, which counts as sent from now on. */
    private synchronized @Nullable Outbound next() {
        Outbound first = ending ? null : unwritten.poll();
        if (first != null) {
            first.leaves();
        }
        return first;
    }

    private void read() {
        RuntimeException why = null;
        try {
            while (isOpen()) {
                Object item = null;
                JedisDataException refusal = null;
                try {
                    item = connection.getUnflushedObject();
                } catch (JedisDataException e) {
                    refusal = e;
                }
                refuseIfBroken();
                if (refusal == null) {
                    reader.came(item);
                } else {
                    reader.refused(new ServerRefusal(refusal.getMessage(), refusal));
                }
            }
        } catch (RuntimeException e) {
            why = e;
        } finally {
            end(why);
        }
    }

    /**
     * Where a write has failed, Jedis marks the connection as broken, and then looks for an error of the server in what is read, on the
     * writing thread. What is read from then on may lack a part, and would be taken for the answer to another request.
     */
    private void refuseIfBroken() {
        if (connection.isBroken()) {
            throw new JedisConnectionException("it could not be written to");
        }
    }

    private void end(@Nullable RuntimeException why) {
        synchronized (this) {
            ending = true;
            notifyAll();
        }
        disconnect();
        List<Outbound> unsent;
        List<Runnable> told;
        synchronized (this) {
            ended = true;
            unsent = List.copyOf(unwritten);
            unwritten.clear();
            told = List.copyOf(listeners);
        }
        safely(() -> reader.ended(why));
        unsent.forEach(outbound -> safely(() -> outbound.staysUnsent(notSent())));
        told.forEach(JedisWire::safely);
    }

    /** One listener that fails keeps nobody else from hearing. */
    private static void safely(Runnable telling) {
        try {
            telling.run();
        } catch (RuntimeException | Error e) {
            LOG.error("the end of a connection could not be taken in", e);
        }
    }
}
