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
 * @param perThread acquisitions of each thread
 * @param seconds from the common start to the end of the last thread
 * @param cpuSeconds of the process or processes that the threads ran in
 * @param bytes what that process or those processes allocated; NaN if one of them does not count it
 * @param waits how long each acquire took, in nanoseconds: a histogram as text, so that other processes can send it
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

    /** The same window in several processes. */
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

    /** The luckiest thread's acquisitions over the unluckiest one's; a thread that got none counts as if it had one. */
    public double maxOverMin() {
        long most = perThread.stream().mapToLong(Long::longValue).max().orElse(0);
        long least = perThread.stream().mapToLong(Long::longValue).min().orElse(0);
        return (double) most / Math.max(1, least);
    }

    /** How long each acquire took, in nanoseconds. */
    public Histogram histogram() {
        try {
            return Histogram.decodeFromCompressedByteBuffer(
                    ByteBuffer.wrap(Base64.getDecoder().decode(waits)), 1);
        } catch (DataFormatException e) {
            throw new IllegalStateException("a histogram arrived damaged", e);
        }
    }
}
