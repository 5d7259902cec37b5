package io.leasehold.servers;

import java.io.IOException;
import java.nio.file.Path;

/**
 * A copy of a server's disk data at one moment, to be restored later by {@link RedisServer#restartFrom(DataCopy)}.
 *
 * <p>Closing it deletes the copy; servers that were restarted from it keep their data.
 */
public final class DataCopy implements AutoCloseable {
    private final Path directory;

    DataCopy(Path directory) {
        this.directory = directory;
    }

    Path directory() {
        return directory;
    }

    @Override
    public void close() {
        try {
            ServerDirectory.deleteTree(directory);
        } catch (IOException e) {
            throw new ServerException("cannot delete the data copy '" + directory + "'", e);
        }
    }
}
