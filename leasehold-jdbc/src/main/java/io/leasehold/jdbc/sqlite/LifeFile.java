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
 * Proof of life: a file beside the database, one for each store that is open, which its process keeps locked. The kernel
 * gives up the lock when the process ends, in whatever way; so a file that is there and not locked says that its process is
 * dead, and its holds with it.
 *
 * <p>What is held may be used by processes that outlive this one: then the file says so ({@link #coverChildren}), and holds are
 * over only when the program that ends those processes has written that it has.
 *
 * <p>Everything else says nothing: a file that is missing (the store was closed, or it was deleted), one that may not be
 * read, one that another process reads at the moment. Then holds end with their ttl.
 *
 * <p>POSIX locks are the process's, and closing <em>any</em> descriptor of a file gives up all its locks on that file. So a
 * life of this very process is never looked at, whichever store or class loader it belongs to: lives begin with what tells
 * one process from another.
 */
final class LifeFile implements Lives {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.jdbc");

    /** Lives come from the database, and become a part of a path. */
    private static final Pattern LIFE = Pattern.compile("[a-z0-9-]{1,120}");

    private static final int MAX_TRIES = 5;

    /** The first byte, where processes may outlive this one. */
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

    /** Begins a life beside this database; without one, if that cannot be done. */
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
                    "no proof of life beside {}: others sweep it away; what this process leaves ends with its ttl",
                    real);
        } catch (IOException e) {
            LOG.info(
                    "no proof of life beside {} ({}); what this process leaves ends with its ttl",
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

    /** The channel with its new file locked; null, and closed, if a process that sweeps was faster. */
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
     * The identity of this process among all on this machine: its pid, in which namespace, and its start, since pids are
     * used again. The same for all who ask within the process.
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
        // On a thread that is never interrupted: an interrupt closes the channel of the writer, and so ends this life.
        runtime.startThread("leasehold-jdbc-life", () -> failure.complete(writeCovered()));
        runtime.awaitUninterruptibly(failure);
        Throwable why = failure.join();
        if (why == null) {
            return Optional.of(file);
        }
        throw new StoreUnavailableException(
                "the proof of life " + file
                        + " cannot be written, so others would take the locks of this process while"
                        + " what it started lives",
                why);
    }

    private @Nullable Throwable writeCovered() {
        try {
            // Over the channel that is open: closing any other would give up the lock.
            channel.write(ByteBuffer.wrap(new byte[] {COVERED}), 0);
            return null;
        } catch (IOException | RuntimeException | Error e) {
            // The caller waits for this, whatever it is.
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
     * @param withChildren whether what it may have started must have ended, too
     */
    private State stateOf(String life, boolean withChildren) {
        if (life.startsWith(process)) {
            return State.ALIVE;
        } else if (!LIFE.matcher(life).matches()) {
            return State.UNKNOWN;
        }
        try (FileChannel other = FileChannel.open(file(database, life), StandardOpenOption.READ)) {
            // Shared, so that several may look at once: what refuses it is the lock of the one whose life it is.
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
            LOG.debug("sweeping beside {} failed", database, e);
        }
    }

    @Override
    public void close() {
        try {
            // First, for a file that is there and not locked would say that this process is dead.
            Files.deleteIfExists(file);
            channel.close();
        } catch (IOException e) {
            LOG.debug("ending the life {} failed", file, e);
        }
    }
}
