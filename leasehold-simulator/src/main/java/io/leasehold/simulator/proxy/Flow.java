package io.leasehold.simulator.proxy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * One direction of one connection: reads from its source, queues bytes in flight, and writes them to its sink when they
 * are due.
 *
 * <p>Belongs to the loop's thread.
 */
final class Flow {
    // Beyond this the source is not read, so that its sender notices a stalled receiver as in a real network.
    private static final int MAX_UNDER_WAY = 1 << 20;

    private final ProxyConnection connection;
    private final ProxyLoop loop;
    private final DirectionFaults direction;
    private final SocketChannel source;
    private final SocketChannel sink;
    private final ArrayDeque<Parcel> underWay = new ArrayDeque<>();
    private long bytesUnderWay;
    private long latestDueAtNanos;
    private long nextDribbleAtNanos;
    private boolean sourceEnded;
    private boolean sinkFull;
    private boolean holed;
    private boolean cutUnderWay;
    private boolean wakePending;
    private long wakeAtNanos;

    /** The effect of a parcel on the sink when it arrives. */
    private enum Kind {
        DATA,
        END,
        RESET,
        CUT
    }

    private static final class Parcel {
        private final Kind kind;
        private final ByteBuffer bytes;
        private final long dueAtNanos;
        private final @Nullable ScheduledLoss loss;
        private boolean countedAsStalled;

        Parcel(Kind kind, ByteBuffer bytes, long dueAtNanos, @Nullable ScheduledLoss loss) {
            this.kind = kind;
            this.bytes = bytes;
            this.dueAtNanos = dueAtNanos;
            this.loss = loss;
        }
    }

    Flow(
            ProxyConnection connection,
            ProxyLoop loop,
            DirectionFaults direction,
            SocketChannel source,
            SocketChannel sink) {
        this.connection = connection;
        this.loop = loop;
        this.direction = direction;
        this.source = source;
        this.sink = sink;
        this.latestDueAtNanos = loop.nanoTime();
        this.nextDribbleAtNanos = latestDueAtNanos;
    }

    ProxyConnection connection() {
        return connection;
    }

    DirectionFaults direction() {
        return direction;
    }

    boolean wantsRead() {
        return !sourceEnded && (holed || bytesUnderWay < MAX_UNDER_WAY);
    }

    boolean wantsWrite() {
        return sinkFull;
    }

    /** Whether bytes or ends were swallowed, so that the rest of the stream must not be delivered. */
    boolean isHoled() {
        return holed;
    }

    boolean hasSourceEnded() {
        return sourceEnded;
    }

    /** Whether nothing will be read any more and nothing is in flight. */
    boolean isFinished() {
        return sourceEnded && underWay.isEmpty();
    }

    /** Swallows everything from now on. */
    void hole() {
        holed = true;
        direction.countDropped(bytesUnderWay);
        underWay.clear();
        bytesUnderWay = 0;
        sinkFull = false;
    }

    void read() {
        ByteBuffer buffer = loop.buffer();
        int count;
        try {
            count = source.read(buffer);
        } catch (IOException resetByPeer) {
            sourceWasReset();
            return;
        }
        if (count < 0) {
            sourceEnded = true;
            arrived(Kind.END, null);
        } else if (count > 0) {
            byte[] bytes = new byte[count];
            buffer.flip().get(bytes);
            byte[] kept = connection.withoutLostPushes(this, bytes);
            if (kept.length > 0) {
                arrived(kept);
            }
        }
        deliver();
    }

    /** Records that the sender reset its side, or a write to it failed; the receiver learns this in order, too. */
    void sourceWasReset() {
        if (!sourceEnded) {
            sourceEnded = true;
            arrived(Kind.RESET, null);
            deliver();
        }
    }

    /** Writes the bytes that are due; the loop calls this again when more are. */
    void deliver() {
        if (direction.isDropping() && !underWay.isEmpty()) {
            hole();
        }
        sinkFull = false;
        while (!underWay.isEmpty() && !holed && sink.isOpen()) {
            Parcel next = underWay.getFirst();
            if (direction.isStalled()) {
                countStalled();
                return;
            }
            long waitNanos = Math.max(next.dueAtNanos - loop.nanoTime(), dribbleWaitNanos(next));
            if (waitNanos > 0) {
                wakeIn(waitNanos);
                return;
            }
            if (next.kind != Kind.DATA) {
                underWay.removeFirst();
                act(next);
            } else if (!write(next)) {
                return;
            }
        }
    }

    /** Called at the requested time. */
    void woken() {
        wakePending = false;
    }

    private void wakeIn(long nanos) {
        long atNanos = loop.nanoTime() + nanos;
        if (!wakePending || atNanos - wakeAtNanos < 0) {
            wakePending = true;
            wakeAtNanos = atNanos;
            loop.wakeAt(atNanos, this);
        }
    }

    private void arrived(byte[] bytes) {
        if (direction.isDropping() || holed) {
            hole();
            direction.countDropped(bytes.length);
            return;
        }
        if (cutUnderWay) {
            direction.countDropped(bytes.length);
            return;
        }
        int passing = connection.bytesThatPass(this, bytes);
        enqueue(Kind.DATA, ByteBuffer.wrap(bytes, 0, passing), direction.delayNanosFor(passing), null);
        if (passing < bytes.length) {
            direction.countDropped(bytes.length - passing);
            arrived(Kind.CUT, connection.pendingLoss());
            cutUnderWay = true;
        }
    }

    private void arrived(Kind kind, @Nullable ScheduledLoss loss) {
        if (direction.isDropping() || holed) {
            hole();
        } else {
            enqueue(kind, ByteBuffer.allocate(0), direction.delayNanosFor(0), loss);
        }
    }

    private void enqueue(Kind kind, ByteBuffer bytes, long delayNanos, @Nullable ScheduledLoss loss) {
        long dueAtNanos = loop.nanoTime() + delayNanos;
        if (dueAtNanos - latestDueAtNanos < 0) {
            dueAtNanos = latestDueAtNanos;
        }
        latestDueAtNanos = dueAtNanos;
        bytesUnderWay += bytes.remaining();
        underWay.addLast(new Parcel(kind, bytes, dueAtNanos, loss));
    }

    private void act(Parcel parcel) {
        switch (parcel.kind) {
            case END -> connection.endSink(sink);
            case RESET -> connection.resetSink(sink);
            case CUT -> connection.lose(parcel.loss);
            case DATA -> throw new AssertionError("data is written, not acted upon");
        }
    }

    /** Returns false if the sink accepts no more, or the connection ended. */
    private boolean write(Parcel parcel) {
        int wanted = direction.untilReset(dribblePiece(parcel.bytes.remaining()));
        ByteBuffer piece = parcel.bytes.slice(parcel.bytes.position(), wanted);
        int written;
        try {
            written = sink.write(piece);
        } catch (IOException receiverIsGone) {
            hole();
            connection.opposite(this).sourceWasReset();
            return false;
        }
        parcel.bytes.position(parcel.bytes.position() + written);
        bytesUnderWay -= written;
        if (direction.bytesPerSecond() > 0) {
            nextDribbleAtNanos = loop.nanoTime() + written * 1_000_000_000L / direction.bytesPerSecond();
        }
        if (!parcel.bytes.hasRemaining()) {
            underWay.removeFirst();
        }
        if (direction.countPassed(written)) {
            connection.cut();
            return false;
        }
        if (written < wanted) {
            sinkFull = true;
            return false;
        }
        return true;
    }

    // A hundredth of a second's amount at a time, at least one byte.
    private int dribblePiece(int remaining) {
        int rate = direction.bytesPerSecond();
        return rate == 0 ? remaining : Math.min(remaining, Math.max(1, rate / 100));
    }

    private long dribbleWaitNanos(Parcel parcel) {
        return direction.bytesPerSecond() == 0 || parcel.kind != Kind.DATA ? 0 : nextDribbleAtNanos - loop.nanoTime();
    }

    private void countStalled() {
        for (Parcel parcel : underWay) {
            if (!parcel.countedAsStalled) {
                parcel.countedAsStalled = true;
                direction.countStalled(parcel.bytes.remaining());
            }
        }
    }
}
