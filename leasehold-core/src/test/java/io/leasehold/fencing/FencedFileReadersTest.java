package io.leasehold.fencing;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of a file that readers, writers, and an earlier version with one number use. */
@Tag("quick")
class FencedFileReadersTest {

    @TempDir
    private Path directory;

    private Path fence;
    private Path writer;
    private FencedFile file;

    @BeforeEach
    void open() throws IOException {
        Path path = directory.resolve("balance");
        fence = directory.resolve("balance.fence");
        writer = directory.resolve("balance.fence-writer");
        file = FencedFile.at(path);
    }

    private boolean reads(long token, Access access) throws IOException {
        try {
            file.read(token, access);
            return true;
        } catch (StaleTokenException late) {
            return false;
        }
    }

    private boolean writes(long token) throws IOException {
        try {
            file.write(token, Long.toString(token).getBytes(UTF_8));
            return true;
        } catch (StaleTokenException late) {
            return false;
        }
    }

    /** Writes as an earlier version does, which takes the tab for a blank and writes the number only if it rises. */
    private boolean olderWrites(long token) throws IOException {
        String text = Files.exists(fence) ? Files.readString(fence) : "0\n";
        long newest = Long.parseLong(text.strip());
        if (token > newest) {
            String number = String.format(Locale.ROOT, "%016d\n", token);
            Files.writeString(fence, number + (text.length() > number.length() ? text.substring(17) : ""));
        }
        return token >= newest;
    }

    @Test
    void readersRefuseOlderWritersAndNotEachOther() throws IOException {
        assertThat(writes(5)).isTrue();
        assertThat(reads(9, Access.READ)).isTrue();
        assertThat(reads(7, Access.READ)).as("an older reader").isTrue();
        assertThatThrownBy(() -> file.write(8, new byte[0]))
                .isInstanceOfSatisfying(
                        StaleTokenException.class,
                        e -> assertThat(e.rejection().newest()).isEqualTo(9));
        assertThat(file.read(7, Access.READ)).hasValue("5".getBytes(UTF_8));
        assertThat(writes(10)).isTrue();
        assertThatThrownBy(() -> file.read(9, Access.READ))
                .isInstanceOfSatisfying(
                        StaleTokenException.class,
                        e -> assertThat(e.rejection().newest()).isEqualTo(10));
        assertThat(reads(10, Access.READ)).isTrue();
        assertThatNullPointerException().isThrownBy(() -> file.read(11, null));
    }

    /** Exclusive use has not changed: one file, in the former format. */
    @Test
    void writersUseOneFileAndTheFormerFormat() throws IOException {
        assertThat(writes(5)).isTrue();
        assertThat(reads(6, Access.WRITE)).isTrue();
        assertThat(Files.readString(fence)).isEqualTo("0000000000000006\n");
        assertThat(writer).doesNotExist();

        assertThat(reads(7, Access.READ)).isTrue();
        assertThat(Files.readString(fence)).isEqualTo("0000000000000007\t");
        assertThat(Files.readString(writer)).isEqualTo("0000000000000006\n");
        assertThat(writes(7)).as("the same token as a writer's").isTrue();
        assertThat(Files.readString(fence)).isEqualTo("0000000000000007\n");
        assertThat(reads(6, Access.READ)).isFalse();
    }

    /** A use that changes nothing writes nothing. */
    @Test
    void aReaderThatWasHereWritesNothing() throws IOException {
        assertThat(writes(5)).isTrue();
        assertThat(reads(5, Access.READ)).isTrue();
        assertThat(writer).as("a writer that reads as a reader").doesNotExist();
        assertThat(reads(9, Access.READ)).isTrue();
        Files.setLastModifiedTime(fence, FileTime.fromMillis(0));
        Files.setLastModifiedTime(writer, FileTime.fromMillis(0));
        assertThat(reads(7, Access.READ)).isTrue();
        assertThat(reads(9, Access.READ)).isTrue();
        assertThat(Files.getLastModifiedTime(fence).toMillis()).isZero();
        assertThat(reads(10, Access.READ)).isTrue();
        assertThat(Files.getLastModifiedTime(fence).toMillis()).isPositive();
        assertThat(Files.getLastModifiedTime(writer).toMillis())
                .as("the writer is the same")
                .isZero();
    }

    /** A crash or an operator may leave any of these next to the mark: the newest token counts as a writer's. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "5",
                "000000000000000",
                "0000000000000005",
                "rubbish",
                "9007199254740992\n",
                "0000000000000099\n",
                "0000000000000005\n\n",
                "0000000000000005\r\n"
            })
    void aWritersTokenThatIsLostIsTheNewest(String left) throws IOException {
        writes(5);
        reads(9, Access.READ);
        Files.writeString(writer, left);
        assertThat(reads(8, Access.READ)).isFalse();
        assertThat(reads(9, Access.READ)).isTrue();
        assertThat(reads(11, Access.READ)).isTrue();
        assertThat(reads(10, Access.READ)).as("known again: 9").isTrue();
        assertThat(reads(8, Access.READ)).isFalse();
        Files.delete(writer);
        assertThat(reads(10, Access.READ)).isFalse();
        assertThat(reads(12, Access.READ)).isTrue();
        assertThat(Files.readString(writer)).isEqualTo("0000000000000011\n");
    }

    /** The second file is written first, and has no meaning alone. */
    @Test
    void aReaderThatStopsBetweenTheFilesHasNotBeenHere() throws IOException {
        writes(5);
        reads(9, Access.READ);
        writes(10);
        Files.writeString(writer, "0000000000000010\n");
        assertThat(reads(9, Access.READ)).isFalse();
        assertThat(reads(10, Access.READ)).isTrue();
        assertThat(writes(10)).isTrue();
    }

    /** A text that an operator wrote is a number without a mark, whatever its end. */
    @ParameterizedTest
    @ValueSource(strings = {"42", "42\n", "42\t", "0000000000000042\n", "0000000000000042 "})
    void aNumberByHandCountsAsAWriters(String text) throws IOException {
        writes(5);
        reads(9, Access.READ);
        Files.writeString(fence, text);
        assertThat(reads(41, Access.READ)).isFalse();
        assertThat(reads(43, Access.READ)).isTrue();
        assertThat(reads(42, Access.READ)).isTrue();
        assertThat(reads(41, Access.READ)).isFalse();
    }

    /** A problem that stops a reader of the second file must not stop a writer, which does not need that file. */
    @Test
    void aWriterPassesWithoutTheSecondFile() throws IOException {
        writes(5);
        reads(9, Access.READ);
        Files.delete(writer);
        Files.createDirectory(writer);
        assertThat(writes(8)).isFalse();
        assertThat(writes(9)).isTrue();
        assertThat(Files.readString(fence)).as("the equal token as a writer's").isEqualTo("0000000000000009\n");
        Files.writeString(fence, "0000000000000009\t");
        assertThat(writes(10)).isTrue();
        assertThat(Files.readString(fence)).isEqualTo("0000000000000010\n");
    }

    /** A reader that cannot write the second file counts as a writer itself. */
    @Test
    void aReaderCountsAsAWriterIfTheSecondFileCannotBeWritten() throws IOException {
        writes(5);
        Files.createDirectory(writer);
        assertThat(reads(9, Access.READ)).isTrue();
        assertThat(Files.readString(fence)).isEqualTo("0000000000000009\n");
        assertThat(reads(8, Access.READ)).isFalse();
        Files.writeString(fence, "0000000000000009\t");
        assertThatThrownBy(() -> reads(8, Access.READ))
                .as("the mark alone: an error is no refusal")
                .isInstanceOf(IOException.class);
        assertThat(reads(12, Access.READ)).isTrue();
        assertThat(Files.readString(fence)).isEqualTo("0000000000000012\n");
        Files.delete(writer);
        assertThat(reads(14, Access.READ)).isTrue();
        assertThat(reads(13, Access.READ)).as("known again: 12").isTrue();
    }

    @Test
    @Timeout(30)
    void aSecondFileThatLeadsToNothingEndsNoReader() throws IOException {
        assumeTrue(Files.getFileStore(directory).supportsFileAttributeView("posix"), "needs symbolic links");
        writes(5);
        Files.createSymbolicLink(writer, directory.resolve("nothing"));
        assertThat(reads(9, Access.READ)).isTrue();
        assertThat(reads(8, Access.READ)).isFalse();
        assertThat(writes(10)).isTrue();
    }

    /** After a crash the mark must not stand next to the number of an earlier writer. */
    @Test
    void theSecondFileIsWrittenBeforeTheMark() throws IOException {
        // If the clock of the file system is coarse, one round may see the same time for both files.
        long end = System.nanoTime() + 1_000_000_000L;
        for (long token = 1; token < 600 && end - System.nanoTime() > 0; token += 2) {
            writes(token);
            reads(token + 1, Access.READ);
            assertThat(Files.getLastModifiedTime(writer)).isLessThanOrEqualTo(Files.getLastModifiedTime(fence));
        }
    }

    @Test
    void aLeasePresentsItsTokenAndItsKind() throws IOException, InterruptedException {
        try (LockClient client = Leasehold.connect("memory:");
                Lease lease = client.named("balance").acquire()) {
            assertThat(file.read(lease)).isEmpty();
            assertThat(reads(lease.fencingToken() - 1, Access.READ))
                    .as("the lease is exclusive")
                    .isFalse();
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6})
    void answersAsThePairDoesAlsoBesideAnEarlierVersion(long seed) throws IOException {
        Random random = new Random(seed);
        TokenPair pair = TokenPair.NONE;
        boolean mixed = seed % 2 == 0;
        for (int step = 0; step < 400; step++) {
            long token = 1L + step / 20 + random.nextInt(8);
            // Together with an earlier version, a token has one kind, as a lease has.
            Access access = (mixed ? token % 2 == 0 : random.nextBoolean()) ? Access.READ : Access.WRITE;
            boolean older = mixed && access == Access.WRITE && random.nextBoolean();
            boolean admitted = older
                    ? olderWrites(token)
                    : (access == Access.READ || random.nextBoolean()) ? reads(token, access) : writes(token);
            assertThat(admitted)
                    .as("step %s: %s %s at %s", step, token, access, pair)
                    .isEqualTo(pair.decide("r", token, access).isAdmitted());
            pair = pair.after(token, access);
        }
    }

    @Test
    void whoeverCanWriteTheFirstFileCanWriteTheSecond() throws IOException {
        assumeTrue(Files.getFileStore(directory).supportsFileAttributeView("posix"), "needs POSIX permissions");
        writes(5);
        Files.setPosixFilePermissions(fence, PosixFilePermissions.fromString("rw-rw----"));
        Files.setPosixFilePermissions(directory.resolve("balance"), PosixFilePermissions.fromString("r--------"));
        reads(9, Access.READ);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(writer)))
                .isEqualTo("rw-rw----");
        assertThat(directory).isDirectoryNotContaining("glob:**.new");
    }

    @Test
    void aFileSystemWithoutLinksKeepsBothToo() throws IOException {
        URI archive = URI.create("jar:" + directory.resolve("disk.zip").toUri());
        try (FileSystem without = FileSystems.newFileSystem(archive, Map.of("create", "true"))) {
            file = FencedFile.at(without.getPath("/balance"));
            assertThat(writes(5)).isTrue();
            assertThat(reads(9, Access.READ)).isTrue();
            assertThat(reads(7, Access.READ)).isTrue();
            assertThat(writes(8)).isFalse();
            assertThat(reads(4, Access.READ)).isFalse();
        }
    }
}
