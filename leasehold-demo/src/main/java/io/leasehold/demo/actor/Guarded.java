package io.leasehold.demo.actor;

import io.leasehold.demo.history.CounterFile;
import io.leasehold.fencing.FencedFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** The guarded counter, either plain or refusing stale tokens, even for reads. */
interface Guarded {

    /** Reads the number. */
    long read(long fencingToken) throws IOException;

    /** Writes the number. */
    void write(long fencingToken, long value) throws IOException;

    /** The counter in this directory, which accepts every access. */
    static Guarded naive(Path directory) {
        CounterFile counter = new CounterFile(directory);
        return new Guarded() {
            @Override
            public long read(long fencingToken) throws IOException {
                return counter.read();
            }

            @Override
            public void write(long fencingToken, long value) throws IOException {
                counter.write(value);
            }
        };
    }

    /**
     * The counter in this directory, which refuses stale tokens by
     * {@link io.leasehold.fencing.StaleTokenException}.
     */
    static Guarded checking(Path directory) throws IOException {
        FencedFile counter = FencedFile.at(directory.resolve(CounterFile.NAME));
        return new Guarded() {
            @Override
            public long read(long fencingToken) throws IOException {
                return counter.read(fencingToken)
                        .map(content -> Long.parseLong(new String(content, StandardCharsets.US_ASCII).strip()))
                        .orElse(0L);
            }

            @Override
            public void write(long fencingToken, long value) throws IOException {
                counter.write(fencingToken, CounterFile.text(value).getBytes(StandardCharsets.US_ASCII));
            }
        };
    }
}
