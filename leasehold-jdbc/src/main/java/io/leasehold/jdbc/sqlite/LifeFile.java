package io.leasehold.jdbc.sqlite;

import io.leasehold.StoreUnavailableException;
import io.leasehold.jdbc.store.Lives;
import io.leasehold.spi.LockRuntime;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.HexFormat;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The proof of life: a file next to the database, one for each open store, which its process keeps locked. The kernel
 * releases the lock when the process ends, in any way. An existing file that is not locked therefore proves that its
 * process is dead, and its holds with it.
 *
 * <p>Processes that outlive this one may use its holds. Then the file records that ({@link #coverChildren}), and holds
 * end only when the program that ends those processes has recorded their end in the file.
 *
 * <p>Every other state proves nothing: a missing file (the store was closed, or the file was deleted), an unreadable
 * file, a file that another process is reading. Then holds end with their ttl.
 *
 * <p>POSIX locks belong to the process, and closing <em>any</em> descriptor of a file releases all its locks on that
 * file. So a process never opens the file of a life of its own, whichever store or class loader it belongs to. Lives
 * begin with the identity of the process, so that it recognises them.
 */
final class LifeFile implements Lives {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.jdbc");

    /** The valid form of a life: lives are read from the database, and become a part of a path. */
    private static final Pattern LIFE = Pattern.compile("[a-z0-9-]{1,120}");

    private static final int MAX_TRIES = 5;

    /** The first byte of the file if other processes may outlive this one. */
    private static final byte COVERED = 'c';

    private final Path database;
    private final String process;
    private final String own;
    private final Path file;
    private final FileChannel channel;
    private final LockRuntime runtime;

    private LifeFile(Path database, String process, String own, FileChannel channel, LockRuntime runtime) {
        this.runtime = runtime;
        this.database = database;
        this.process = process;
        this.own = own;
        this.file = file(database, own);
        this.channel = channel;
    }

    /** Begins a life next to this database; without a proof of life if that is impossible. */
    static Lives begin(Path database, LockRuntime runtime) {
        try {
            Path real = database.toRealPath();
            String process = process();
            for (int tries = 0; tries < MAX_TRIES; tries++) {
                byte[] random = new byte[8];
                runtime.randomBytes(random);
                String own = process + HexFormat.of().formatHex(random);
                Path file = file(real, own);
                FileChannel channel = locked(made(file, real), file);
                if (channel != null) {
                    return new LifeFile(real, process, own, channel, runtime);
                }
            }
            LOG.info(
                    "no proof of life next to {}: other processes delete it; this process's holds end with their ttl",
                    real);
        } catch (IOException e) {
            LOG.info(
                    "no proof of life next to {} ({}); this process's holds end with their ttl",
                    database,
                    e.toString());
        }
        return UNKNOWN;
    }

    private static FileChannel made(Path file, Path database) throws IOException {
        return FileChannel.open(
                file,
                Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE),
                LockFile.attributesLike(database));
    }

    /** Locks the new file of the channel; closes it and returns null if a sweeping process was faster. */
    static @Nullable FileChannel locked(FileChannel made, Path file) throws IOException {
        boolean locked = false;
        try {
            locked = made.tryLock() != null && Files.exists(file);
        } finally {
            if (!locked) {
                made.close();
            }
        }
        return locked ? made : null;
    }

    private static Path file(Path database, String life) {
        return database.resolveSibling(database.getFileName() + "-life-" + life);
    }

    /**
     * The identity of this process among all on this machine: its pid, the namespace of the pid, and its start, since
     * pids are reused. The same for all callers within the process.
     */
    private static String process() {
        ProcessHandle self = ProcessHandle.current();
        long start = self.info().startInstant().map(Instant::toEpochMilli).orElse(0L);
        return self.pid() + "-" + pidNamespace() + "-" + Long.toHexString(start) + "-";
    }

    private static String pidNamespace() {
        try {
            String link = Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString();
            return link.replaceAll("[^0-9]", "");
        } catch (IOException | UnsupportedOperationException e) {
            return "0";
        }
    }

    @Override
    public String own() {
        return own;
    }

    @Override
    public Optional<Path> coverChildren() {
        CompletableFuture<@Nullable Throwable> failure = new CompletableFuture<>();
        // On a thread that is never interrupted: an interrupt would close the channel of the writer, and so end this
        // life.
        runtime.startThread("leasehold-jdbc-life", () -> failure.complete(writeCovered()));
        runtime.awaitUninterruptibly(failure);
        Throwable why = failure.join();
        if (why == null) {
            return Optional.of(file);
        }
        throw new StoreUnavailableException(
                "the proof of life " + file
                        + " cannot be written, so other processes would take the locks of this process while"
                        + " its children live",
                why);
    }

    private @Nullable Throwable writeCovered() {
        try {
            // Over the open channel: closing any other would release the lock.
            channel.write(ByteBuffer.wrap(new byte[] {COVERED}), 0);
            return null;
        } catch (IOException | RuntimeException | Error e) {
            // The caller waits for the failure, whatever it is.
            return e;
        }
    }

    @Override
    public State stateOf(String life) {
        return stateOf(life, true);
    }

    /**
     * The known state of the process with this life.
     *
     * @param withChildren whether its possible children must have ended, too
     */
    private State stateOf(String life, boolean withChildren) {
        if (life.startsWith(process)) {
            return State.ALIVE;
        } else if (!LIFE.matcher(life).matches()) {
            return State.UNKNOWN;
        }
        try (FileChannel other = FileChannel.open(file(database, life), StandardOpenOption.READ)) {
            // Shared, so that several processes may test it at once: only the lock of the living process refuses it.
            FileLock lock = other.tryLock(0, Long.MAX_VALUE, true);
            if (lock == null) {
                return State.ALIVE;
            }
            return !withChildren || saysThatAllHasEnded(other) ? State.OVER : State.UNKNOWN;
        } catch (OverlappingFileLockException | IOException e) {
            return State.UNKNOWN;
        }
    }

    private static boolean saysThatAllHasEnded(FileChannel life) throws IOException {
        ByteBuffer text = ByteBuffer.allocate(2);
        int length = life.read(text, 0);
        return length < 1 || text.get(0) != COVERED || (length > 1 && text.get(1) == CHILDREN_ENDED);
    }

    @Override
    public void sweep(Set<String> named) {
        String prefix = database.getFileName() + "-life-";
        try (DirectoryStream<Path> files = Files.newDirectoryStream(
                Objects.requireNonNull(database.getParent()),
                path -> path.getFileName().toString().startsWith(prefix))) {
            for (Path path : files) {
                String life = path.getFileName().toString().substring(prefix.length());
                if (!named.contains(life) && stateOf(life, false) == State.OVER) {
                    Files.deleteIfExists(path);
                }
            }
        } catch (IOException | java.nio.file.DirectoryIteratorException e) {
            LOG.debug("sweeping next to {} failed", database, e);
        }
    }

    @Override
    public void close() {
        try {
            // First: an existing file that is not locked would say that this process is dead.
            Files.deleteIfExists(file);
            channel.close();
        } catch (IOException e) {
            LOG.debug("ending the life {} failed", file, e);
        }
    }
}
