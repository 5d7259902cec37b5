package io.leasehold.jdbc.sqlite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.jdbc.store.Lives;
import io.leasehold.jdbc.store.Lives.State;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What a file next to the database proves about a process. The tests with processes show that the kernel releases the
 * lock of a dead one.
 */
@Tag("quick")
class LifeFileTest {

    @TempDir
    private Path directory;

    private final SystemLockRuntime runtime = new SystemLockRuntime();
    private Lives lives;

    @BeforeEach
    void begin() throws IOException {
        lives = LifeFile.begin(Files.createFile(directory.resolve("locks.db")), runtime);
    }

    @AfterEach
    void end() {
        lives.close();
        runtime.close();
    }

    private Path file(String life) {
        return directory.resolve("locks.db-life-" + life);
    }

    /** Leaves the file of a dead process. */
    private void dead(String life, String says) throws IOException {
        Files.writeString(file(life), says);
    }

    private String own() {
        return Objects.requireNonNull(lives.own());
    }

    @Test
    void aFileThatNobodyLocksSaysThatItsProcessIsDead() throws IOException {
        dead("1-2-3-a", "");
        assertThat(lives.stateOf("1-2-3-a")).isEqualTo(State.OVER);
        assertThat(lives.isOver("1-2-3-a")).isTrue();
    }

    @Test
    void whatItsChildrenUseIsOverWhenTheyAreSaidToHaveEnded() throws IOException {
        dead("1-2-3-b", "c");
        assertThat(lives.stateOf("1-2-3-b")).isEqualTo(State.UNKNOWN);
        dead("1-2-3-b", "cx");
        assertThat(lives.stateOf("1-2-3-b")).isEqualTo(State.UNKNOWN);
        dead("1-2-3-b", "ce");
        assertThat(lives.stateOf("1-2-3-b")).isEqualTo(State.OVER);
    }

    @Test
    void whatIsNotThereOrNoLifeSaysNothing() throws IOException {
        assertThat(lives.stateOf("1-2-3-c")).isEqualTo(State.UNKNOWN);
        Files.writeString(directory.resolve("locks.db-life-A"), "");
        assertThat(lives.stateOf("A")).isEqualTo(State.UNKNOWN);
        assertThat(lives.stateOf("x/../a")).isEqualTo(State.UNKNOWN);
    }

    /** A life of this process is never opened: closing the file again would release its lock. */
    @Test
    void allLivesOfThisProcessAreAliveAndThoseOfItsPidBeforeAreNot() throws IOException {
        assertThat(file(own())).exists();
        assertThat(lives.stateOf(own())).isEqualTo(State.ALIVE);
        String[] parts = own().split("-", 4);
        assertThat(Long.parseLong(parts[0])).isEqualTo(ProcessHandle.current().pid());
        assertThat(lives.stateOf(parts[0] + "-" + parts[1] + "-" + parts[2] + "-0123"))
                .isEqualTo(State.ALIVE);
        String earlier = parts[0] + "-" + parts[1] + "-" + parts[2] + "1-" + parts[3];
        dead(earlier, "");
        assertThat(lives.stateOf(earlier)).isEqualTo(State.OVER);
        String elsewhere = parts[0] + "-" + parts[1] + "1-" + parts[2] + "-" + parts[3];
        dead(elsewhere, "");
        assertThat(lives.stateOf(elsewhere)).isEqualTo(State.OVER);
    }

    @Test
    void onlyTheFilesOfTheDeadWhoHoldNothingAreSweptAway() throws IOException {
        dead("1-2-3-d", "");
        dead("1-2-3-e", "");
        dead("1-2-3-f", "c");
        Files.writeString(directory.resolve("another.db-life-1-2-3-d"), "");
        lives.sweep(Set.of("1-2-3-e"));
        assertThat(file("1-2-3-d")).doesNotExist();
        assertThat(file("1-2-3-e")).exists();
        assertThat(file("1-2-3-f")).as("its children hold nothing either").doesNotExist();
        assertThat(file(own())).exists();
        assertThat(directory.resolve("another.db-life-1-2-3-d")).exists();
    }

    @Test
    void theOwnFileSaysThatChildrenAreCoveredAndGoesWithTheClose() throws IOException {
        Path told = lives.coverChildren().orElseThrow();
        assertThat(told).isEqualTo(file(own()).toRealPath()).hasContent("c");
        lives.close();
        assertThat(told).doesNotExist();
    }

    /**
     * An interrupt closes the channel that a thread writes to, and releases the lock that proves that this process
     * lives.
     */
    @Test
    void aThreadThatIsInterruptedCoversChildrenAndTheProcessStaysAlive() throws IOException {
        Thread.currentThread().interrupt();
        Path told = lives.coverChildren().orElseThrow();
        assertThat(Thread.interrupted()).as("the interrupt is kept").isTrue();
        assertThat(Files.readString(told)).isEqualTo("c");
        try (FileChannel other = FileChannel.open(told, StandardOpenOption.READ)) {
            assertThatThrownBy(() -> other.tryLock(0, Long.MAX_VALUE, true))
                    .isInstanceOf(OverlappingFileLockException.class);
        }
    }

    /** The work of the separate thread is awaited by the runtime, so that a virtual world continues meanwhile. */
    @Test
    void childrenAreCoveredInVirtualTimeAndNotAfterTheEnd() throws IOException {
        Lives virtual = LifeFile.begin(Files.createFile(directory.resolve("v.db")), VirtualRuntime.seeded(1));
        assertThat(Files.readString(virtual.coverChildren().orElseThrow())).isEqualTo("c");
        virtual.close();
        assertThatThrownBy(virtual::coverChildren)
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("proof of life")
                .hasCauseInstanceOf(ClosedChannelException.class);
    }

    /**
     * The file exists without a lock for a moment, as if its process were dead, and another process may have swept it.
     */
    @Test
    void aNewLifeThatWasSweptBeforeItWasLockedIsNotUsed() throws IOException {
        for (boolean swept : new boolean[] {false, true}) {
            Path file = file("new-" + swept);
            FileChannel made = FileChannel.open(
                    file, StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE);
            if (swept) {
                Files.delete(file);
            }
            FileChannel used = LifeFile.locked(made, file);
            assertThat(used == null).isEqualTo(swept);
            assertThat(made.isOpen()).isEqualTo(!swept);
            made.close();
        }
    }

    /** A process that checks whether it is alive locks it for a moment. */
    @Test
    void aNewLifeThatIsBeingLookedAtIsNotUsed() throws IOException {
        Path file = Files.createFile(file("new"));
        FileChannel closed = FileChannel.open(file, StandardOpenOption.WRITE);
        closed.close();
        assertThatThrownBy(() -> LifeFile.locked(closed, file)).isInstanceOf(ClosedChannelException.class);
        FileChannel made = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
        FileChannel other = FileChannel.open(file, StandardOpenOption.READ);
        other.lock(0, Long.MAX_VALUE, true);
        // Within one process this is an error; in another process the lock would be refused.
        assertThatThrownBy(() -> LifeFile.locked(made, file)).isInstanceOf(OverlappingFileLockException.class);
        assertThat(made.isOpen()).isFalse();
        other.close();
    }

    @Test
    void eachStoreOfAProcessHasALifeOfItsOwn() {
        Lives second = LifeFile.begin(directory.resolve("locks.db"), runtime);
        try {
            assertThat(second.own()).isNotNull().isNotEqualTo(own());
            assertThat(lives.stateOf(String.valueOf(second.own()))).isEqualTo(State.ALIVE);
            assertThat(file(String.valueOf(second.own()))).exists();
        } finally {
            second.close();
        }
        assertThat(file(own())).as("its own").exists();
    }

    @Test
    void whereNoFileCanBeMadeThereIsNoLifeAndNothingFails() {
        assertThat(LifeFile.begin(directory.resolve("missing").resolve("locks.db"), runtime))
                .isSameAs(Lives.UNKNOWN);
    }

    @Test
    void aLifeNamesItsPidItsNamespaceAndItsStart() throws IOException {
        Path namespace = Path.of("/proc/self/ns/pid");
        String[] parts = own().split("-", 4);
        assertThat(parts[3]).matches("[0-9a-f]{16}");
        String expected = Files.isSymbolicLink(namespace)
                ? Files.readSymbolicLink(namespace).toString().replaceAll("[^0-9]", "")
                : "0";
        assertThat(parts[1]).isEqualTo(expected);
        assertThat(Long.parseLong(parts[2], 16))
                .isEqualTo(ProcessHandle.current()
                        .info()
                        .startInstant()
                        .orElseThrow()
                        .toEpochMilli());
    }

    @Test
    void theCloseKeepsNoFileOpen() throws IOException {
        Path descriptors = Path.of("/proc/self/fd");
        assumeTrue(Files.isDirectory(descriptors), "needs Linux");
        assertThat(openFiles(descriptors)).anyMatch(file -> file.contains(own()));
        lives.close();
        assertThat(openFiles(descriptors)).noneMatch(file -> file.contains(own()));
    }

    /** An existing file without a lock would say that this process is dead, and its holds with it. */
    @Test
    void aFileThatCannotBeDeletedStaysLocked() throws IOException {
        Path descriptors = Path.of("/proc/self/fd");
        assumeTrue(Files.isDirectory(descriptors), "needs Linux");
        Path file = file(own());
        Files.delete(file);
        Files.createDirectories(file.resolve("in the way"));
        lives.close();
        assertThat(openFiles(descriptors)).anyMatch(open -> open.contains(own()));
    }

    private static List<String> openFiles(Path descriptors) throws IOException {
        List<String> files = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(descriptors)) {
            for (Path one : all) {
                try {
                    files.add(Files.readSymbolicLink(one).toString());
                } catch (NoSuchFileException e) {
                    // Closed in the meantime.
                }
            }
        }
        return files;
    }
}
