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
 * One Jedis connection during its life, with two threads: one writes the requests in their order, the other reads the
 * replies. No other thread waits for the server.
 *
 * <p>Replies belong to requests by their order, so a late reply still belongs to its own request. The reading thread
 * reports replies, and the end. A request that has not been written by then was never sent; the outcome of the others
 * is unknown. State is guarded by {@code this}.
 */
final class JedisWire {

    private static final Logger LOG = LoggerFactory.getLogger(JedisWire.class);

    private final Connection connection;
    private final Reader reader;
    private final Deque<Outbound> unwritten = new ArrayDeque<>();
    private final List<Runnable> listeners = new ArrayList<>();
    private boolean writing;
    /** Accepts no more requests; the socket is closed, or about to be. */
    private boolean ending;
    /** The requests in flight have been notified of the end. */
    private boolean ended;

    /** Commands that are sent together. */
    interface Outbound {
        /** The commands. */
        List<CommandArguments> commands();

        /** Called directly before the commands are written; replies from now on may belong to them. */
        void leaves();

        /** Called if the commands were never sent. */
        void staysUnsent(NotSentException why);
    }

    /** The owner of a connection, called on the reading thread. */
    interface Reader {
        /** Called with a reply or a push of the server. */
        void came(@Nullable Object item);

        /** Called if the server has replied with an error. */
        void refused(ServerRefusal refusal);

        /** Called when nothing will arrive any more: requests that were written and not answered are lost. */
        void ended(@Nullable RuntimeException why);
    }

    /** Uses a connection that is logged in, and has no other use from now on. */
    JedisWire(Connection connection, Reader reader) {
        this.connection = connection;
        this.reader = reader;
    }

    /** Starts writing and reading. */
    void start(JedisThreads threads) {
        // The waiting callers judge silence, not the socket.
        connection.setSoTimeout(0);
        threads.start("reads", this::read);
        threads.start("writes", this::write);
    }

    /** Sends commands, or reports that they stay unsent. */
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

    /** Calls the listener at the end, on the reading thread; at once if the connection has ended. */
    void onEnd(Runnable listener) {
        synchronized (this) {
            if (!ended) {
                listeners.add(listener);
                return;
            }
        }
        listener.run();
    }

    /** Ends the connection, even if the writing thread is blocked because the server reads nothing. */
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
            // Closing a TLS socket may wait for the write in progress, so the calling thread does not do it.
            try {
                threads.start("ends", this::disconnect);
            } catch (Error e) {
                // The system has no more threads.
                LOG.debug("a connection is closed by the calling thread", e);
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
                    // This flushes the buffer, and reads nothing.
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
            // Closed again, in case it was ended in the middle of a write: Jedis connects anew in order to send over a
            // closed socket. A command sent that way was sent once, and counts as lost.
            disconnect();
        }
    }

    /** Waits for something to send or to flush; returns false at the end. */
    private synchronized boolean awaitWork(boolean buffered) {
        writing = false;
        while (unwritten.isEmpty() && !buffered && !ending) {
            try {
                wait();
            } catch (InterruptedException e) {
                // No code interrupts this thread; it ends with its connection.
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
     * After a failed write, Jedis marks the connection as broken, and then reads on the writing thread, to find an
     * error of the server. Anything that is read from then on may be incomplete, and would be taken for the reply to
     * another request.
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

    /** Calls a listener; its failure does not keep the others from being notified. */
    private static void safely(Runnable telling) {
        try {
            telling.run();
        } catch (RuntimeException | Error e) {
            LOG.error("the end of a connection could not be taken in", e);
        }
    }
}
