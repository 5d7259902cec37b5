package io.leasehold.servers;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * The wall clock of one server process, which can be set and made to run fast or slow; see {@link ClockShim}.
 *
 * <p>Restarts of the server do not change it. Safe for use by any thread.
 */
public final class ServerClock {

    private static final VarHandle WORD = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final int BYTES = 40;
    private static final int VERSION = 0;
    private static final int ANCHOR = 8;
    private static final int OFFSET = 16;
    private static final int RATE = 24;
    private static final int LOADED = 32;

    private final Path library;
    private final Path file;
    private final MappedByteBuffer words;
    private long anchorNanos = realNanos();
    private long offsetNanos;
    private long partsPerMillion;

    private ServerClock(Path library, Path file, MappedByteBuffer words) {
        this.library = library;
        this.file = file;
        this.words = words;
    }

    static ServerClock create(Path library, Path file) {
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return new ServerClock(library, file, channel.map(FileChannel.MapMode.READ_WRITE, 0, BYTES));
        } catch (IOException e) {
            throw new ServerException("cannot map '" + file + "'", e);
        }
    }

    /** Sets the clock forwards or, with a negative span, back, at once. */
    public synchronized void step(Duration by) {
        settle();
        offsetNanos += by.toNanos();
        write();
    }

    /**
     * Sets how many µs a second the clock gains or, if negative, loses from now on: 50,000 is 5 %. With 0 it is as
     * exact as the real clock.
     */
    public synchronized void rate(long newPartsPerMillion) {
        settle();
        partsPerMillion = newPartsPerMillion;
        write();
    }

    /** Back to the real time, and its rate. */
    public synchronized void reset() {
        anchorNanos = realNanos();
        offsetNanos = 0;
        partsPerMillion = 0;
        write();
    }

    /** The time by which it is ahead of the real time now. */
    public synchronized Duration offset() {
        settle();
        return Duration.ofNanos(offsetNanos);
    }

    /** Adds the accumulated effect of the rate to the offset. */
    private void settle() {
        long nowNanos = realNanos();
        offsetNanos += (long) ((double) (nowNanos - anchorNanos) * partsPerMillion / 1_000_000);
        anchorNanos = nowNanos;
    }

    private void write() {
        long version = (long) WORD.getVolatile(words, VERSION);
        WORD.setVolatile(words, VERSION, version + 1);
        WORD.setVolatile(words, ANCHOR, anchorNanos);
        WORD.setVolatile(words, OFFSET, offsetNanos);
        WORD.setVolatile(words, RATE, partsPerMillion);
        WORD.setVolatile(words, VERSION, version + 2);
    }

    private static long realNanos() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000_000L + now.getNano();
    }

    /** The prefix of the server's command that gives it this clock. */
    List<String> prefix() {
        WORD.setVolatile(words, LOADED, 0L);
        return List.of("/usr/bin/env", "LD_PRELOAD=" + library, "LEASEHOLD_CLOCK=" + file);
    }

    /** Whether a process has really taken it over since {@link #prefix}: a static binary does not. */
    boolean isLoaded() {
        return (long) WORD.getVolatile(words, LOADED) != 0;
    }
}
