package io.leasehold.benchmarks.measure;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/**
 * The work of the threads in one window.
 *
 * @param perThread the acquisitions of each thread
 * @param seconds the time from the common start to the end of the last thread
 * @param cpuSeconds the processor time of the process or processes of the threads
 * @param bytes the allocation of these processes; NaN if one of them does not count it
 * @param waits the duration of each acquire in nanoseconds: a histogram as text, so that other processes can send it
 */
public record Load(List<Long> perThread, double seconds, double cpuSeconds, double bytes, String waits) {

    /** Keeps a copy. */
    public Load {
        perThread = List.copyOf(perThread);
    }

    static Load of(List<Long> perThread, double seconds, double cpuSeconds, double bytes, Histogram waits) {
        ByteBuffer buffer = ByteBuffer.allocate(waits.getNeededByteBufferCapacity());
        int length = waits.encodeIntoCompressedByteBuffer(buffer);
        byte[] exact = Arrays.copyOf(buffer.array(), length);
        return new Load(
                perThread, seconds, cpuSeconds, bytes, Base64.getEncoder().encodeToString(exact));
    }

    /** Merges the same window of several processes. */
    public static Load merge(List<Load> parts) {
        List<Long> perThread = new ArrayList<>();
        Histogram waits = Waits.empty();
        double seconds = 0;
        double cpuSeconds = 0;
        double bytes = 0;
        for (Load part : parts) {
            perThread.addAll(part.perThread);
            waits.add(part.histogram());
            seconds = Math.max(seconds, part.seconds);
            cpuSeconds += part.cpuSeconds;
            bytes += part.bytes;
        }
        return of(perThread, seconds, cpuSeconds, bytes, waits);
    }

    /** All acquisitions. */
    public long operations() {
        return perThread.stream().mapToLong(Long::longValue).sum();
    }

    /** The ratio of the most acquisitions of a thread to the fewest; a thread without any counts as one. */
    public double maxOverMin() {
        long most = perThread.stream().mapToLong(Long::longValue).max().orElse(0);
        long least = perThread.stream().mapToLong(Long::longValue).min().orElse(0);
        return (double) most / Math.max(1, least);
    }

    /** The duration of each acquire, in nanoseconds. */
    public Histogram histogram() {
        try {
            return Histogram.decodeFromCompressedByteBuffer(
                    ByteBuffer.wrap(Base64.getDecoder().decode(waits)), 1);
        } catch (DataFormatException e) {
            throw new IllegalStateException("a histogram arrived damaged", e);
        }
    }
}
