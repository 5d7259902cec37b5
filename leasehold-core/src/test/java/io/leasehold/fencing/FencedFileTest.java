package io.leasehold.fencing;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystemLoopException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("quick")
class FencedFileTest {

    @TempDir
    private Path directory;

    private final List<Admission> answers = Collections.synchronizedList(new ArrayList<>());
    private Path path;
    private FencedFile file;

    @BeforeEach
    void open() throws IOException {
        path = directory.resolve("balance");
        file = FencedFile.at(path, answers::add);
    }

    private String read(long token) throws IOException {
        return file.read(token).map(content -> new String(content, UTF_8)).orElse("nothing");
    }

    /** The holder was stopped between its read and its write: the case for which tokens exist. */
    @Test
    void refusesTheWriteOfAHolderThatWasStopped() throws IOException {
        file.write(1, "10".getBytes(UTF_8));
        String seenByTheOld = read(2);
        String seenByTheNew = read(3);
        assertThat(seenByTheOld).isEqualTo(seenByTheNew).isEqualTo("10");

        assertThatThrownBy(() -> file.write(2, "11 by the old".getBytes(UTF_8)))
                .isInstanceOf(StaleTokenException.class);
        file.write(3, "11".getBytes(UTF_8));

        assertThat(read(3)).isEqualTo("11");
        assertThat(answers)
                .filteredOn(answer -> answer instanceof Admission.Rejected)
                .singleElement()
                .satisfies(answer -> assertThat(answer.token()).isEqualTo(2));
    }

    /** The observer is called without the locks: no thread waits for the user's code, which may use the file itself. */
    @Test
    void anObserverMayUseTheFile() throws IOException {
        List<String> seen = new ArrayList<>();
        FencedFile observed = FencedFile.at(path, answer -> {
            try {
                seen.add(answer.token() + " " + read(5));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        observed.write(5, "10".getBytes(UTF_8));
        assertThatThrownBy(() -> observed.write(4, "11".getBytes(UTF_8))).isInstanceOf(StaleTokenException.class);
        assertThat(seen).containsExactly("5 10", "4 10");
    }

    @Test
    void registersTheTokenOfAReadOfAFileThatDoesNotExist() throws IOException {
        assertThat(read(5)).isEqualTo("nothing");

        assertThatThrownBy(() -> read(4))
                .isInstanceOf(StaleTokenException.class)
                .hasMessageContaining("5");
        assertThat(path).doesNotExist();
    }

    @Test
    void remembersBeyondTheObject() throws IOException {
        file.write(8, "x".getBytes(UTF_8));

        FencedFile another = FencedFile.at(directory.resolve(".").resolve("balance"));
        assertThatThrownBy(() -> another.read(7)).isInstanceOf(StaleTokenException.class);
        assertThat(another.read(8)).isPresent();
        assertThat(directory).isDirectoryNotContaining("glob:**.next");
    }

    @Test
    void letsNobodyInIfTheFenceCannotBeRead() throws IOException {
        file.write(8, "x".getBytes(UTF_8));
        Files.writeString(directory.resolve("balance.fence"), "rubbish");

        assertThatThrownBy(() -> file.write(9, "y".getBytes(UTF_8)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("balance.fence");
        assertThat(Files.readString(path)).isEqualTo("x");
    }

    /** An emptied fence has lost its token. A negative number, or one that no lease can have, never was a token. */
    @ParameterizedTest
    @ValueSource(strings = {"", "\n", "-5", "+5", "5 6", "0x5", "9007199254740992", "\u0665"})
    void letsNobodyInIfTheFenceHoldsNoToken(String text) throws IOException {
        file.write(8, "x".getBytes(UTF_8));
        Files.writeString(directory.resolve("balance.fence"), text);

        assertThatThrownBy(() -> file.read(1)).isInstanceOf(IOException.class).hasMessageContaining("balance.fence");
        assertThatThrownBy(() -> file.write(9, "y".getBytes(UTF_8))).isInstanceOf(IOException.class);
        assertThat(Files.readString(path)).isEqualTo("x");
    }

    @Test
    void takesWhatAPersonPutThere() throws IOException {
        file.write(8, "x".getBytes(UTF_8));
        Files.writeString(directory.resolve("balance.fence"), "42\n");

        assertThatThrownBy(() -> file.read(41)).isInstanceOf(StaleTokenException.class);
        file.write(43, "y".getBytes(UTF_8));
        assertThatThrownBy(() -> file.read(42)).isInstanceOf(StaleTokenException.class);
    }

    /** Arabic, Persian, Bengali, Burmese and Marathi have their own digits. */
    @ParameterizedTest
    @ValueSource(strings = {"ar-EG-u-nu-arab", "fa-IR", "bn-BD", "my-MM", "mr-IN"})
    void theFenceIsReadInEveryLocale(String tag) throws IOException {
        Locale before = Locale.getDefault();
        Locale.setDefault(Locale.forLanguageTag(tag));
        try {
            file.write(8, "x".getBytes(UTF_8));
            assertThat(read(9)).isEqualTo("x");
        } finally {
            Locale.setDefault(before);
        }
        assertThat(Files.readString(directory.resolve("balance.fence"))).isEqualTo("0000000000000009\n");
        assertThatThrownBy(() -> read(8)).isInstanceOf(StaleTokenException.class);
    }

    @Test
    void aSymbolicLinkIsTheFileThatItLeadsTo() throws IOException {
        Path links = Files.createDirectory(directory.resolve("links"));
        Path link = Files.createSymbolicLink(links.resolve("balance"), Path.of("..", "balance"));
        Path again = Files.createSymbolicLink(links.resolve("again"), link);
        FencedFile dangling = FencedFile.at(again);
        dangling.write(8, "x".getBytes(UTF_8));

        assertThat(Files.readString(path)).isEqualTo("x");
        for (Path name : List.of(path, link, again)) {
            assertThatThrownBy(() -> FencedFile.at(name).read(7))
                    .as(name.toString())
                    .isInstanceOf(StaleTokenException.class);
        }
        assertThat(links).isDirectoryNotContaining("glob:**.fence");
        assertThat(Files.isSymbolicLink(link)).isTrue();

        Files.createSymbolicLink(links.resolve("a"), links.resolve("b"));
        Files.createSymbolicLink(links.resolve("b"), links.resolve("a"));
        assertThatThrownBy(() -> FencedFile.at(links.resolve("a"))).isInstanceOf(FileSystemLoopException.class);
    }

    @Test
    void aFileThatBecameALinkSinceIsRefused() throws IOException {
        Files.createSymbolicLink(path, directory.resolve("other"));
        assertThatThrownBy(() -> file.write(8, "x".getBytes(UTF_8)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("symbolic link");
        assertThat(directory.resolve("other")).doesNotExist();
    }

    @ParameterizedTest
    @ValueSource(strings = {"rw-------", "rw-r-----", "rw-rw-rw-", "r--------"})
    void theNewContentHasTheRightsOfTheOld(String rights) throws IOException {
        assumeTrue(Files.getFileStore(directory).supportsFileAttributeView("posix"), "needs POSIX permissions");
        Files.writeString(path, "secret");
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(rights));
        // A crash may have left a file that every user can read.
        Path next = Files.writeString(directory.resolve("balance.next"), "left");
        Files.setPosixFilePermissions(next, PosixFilePermissions.fromString("rw-rw-rw-"));
        file.write(8, "new secret".getBytes(UTF_8));

        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(path)))
                .isEqualTo(rights);
        assertThat(Files.readString(path)).isEqualTo("new secret");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory.resolve("balance.fence"))))
                .as("each user of the file must be able to use its fence")
                .isEqualTo("rw" + rights.substring(2));
    }

    @Test
    void theFileStaysThatOfItsOwnerAndGroup() throws IOException {
        assumeTrue(System.getProperty("user.name").equals("root"), "needs the right to give files away: run as root");
        Files.writeString(path, "of nobody");
        Files.setAttribute(path, "unix:uid", 65534);
        Files.setAttribute(path, "unix:gid", 65534);
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-r-----"));
        file.write(8, "x".getBytes(UTF_8));

        assertThat(Files.getAttribute(path, "unix:uid")).isEqualTo(65534);
        assertThat(Files.getAttribute(path, "unix:gid")).isEqualTo(65534);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(path)))
                .isEqualTo("rw-r-----");
        for (String id : List.of("unix:uid", "unix:gid")) {
            assertThat(Files.getAttribute(directory.resolve("balance.fence"), id))
                    .isEqualTo(65534);
        }
    }

    /** Each process that finds no fence creates one; all tokens end up in the same fence. */
    @Test
    void manyWhoComeFirstShareOneFence() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            for (int round = 0; round < 50; round++) {
                FencedFile shared = FencedFile.at(directory.resolve("file-" + round));
                List<Future<?>> runs = new ArrayList<>();
                for (long token = 1; token <= 4; token++) {
                    long mine = token;
                    runs.add(threads.submit(() -> {
                        try {
                            shared.read(mine);
                        } catch (StaleTokenException late) {
                            assertThat(mine).isLessThan(4);
                        }
                        return null;
                    }));
                }
                for (Future<?> run : runs) {
                    run.get();
                }
                assertThatThrownBy(() -> shared.read(3)).isInstanceOf(StaleTokenException.class);
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(directory).isDirectoryNotContaining("glob:**.new");
    }

    @Test
    void refusesWhatIsNoFile() {
        assertThatIllegalArgumentException().isThrownBy(() -> FencedFile.at(Path.of("/")));
        assertThatThrownBy(() -> FencedFile.at(directory.resolve("missing").resolve("file")))
                .isInstanceOf(IOException.class);
    }

    /** Each round is a holder with its own token that reads, adds one, and writes; every admitted addition counts. */
    @Test
    void losesNoAcknowledgedUpdateWhateverTheOrder() throws Exception {
        AtomicLong tokens = new AtomicLong();
        AtomicLong acknowledged = new AtomicLong();
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<?>> runs = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                runs.add(threads.submit(() -> {
                    FencedFile mine = FencedFile.at(path);
                    for (int i = 0; i < 100; i++) {
                        long token = tokens.incrementAndGet();
                        try {
                            long value = mine.read(token)
                                    .map(content -> Long.parseLong(new String(content, UTF_8)))
                                    .orElse(0L);
                            mine.write(token, Long.toString(value + 1).getBytes(UTF_8));
                            acknowledged.incrementAndGet();
                        } catch (StaleTokenException stopped) {
                            // A newer holder has used the file.
                        }
                    }
                    return null;
                }));
            }
            for (Future<?> run : runs) {
                run.get();
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(acknowledged.get()).isPositive();
        assertThat(read(tokens.incrementAndGet())).isEqualTo(Long.toString(acknowledged.get()));
    }

    /** From the first number of a new fence to the largest token of a lease, with no more text than a number needs. */
    @Test
    void aFenceHoldsAnyTokenOfALease() throws IOException {
        file.write(8, "x".getBytes(UTF_8));
        Path fence = directory.resolve("balance.fence");
        Files.writeString(fence, "0\n");
        assertThat(read(1)).isEqualTo("x");
        assertThat(Files.readString(fence).strip()).isEqualTo("0000000000000001");
        Files.writeString(fence, FencingToken.LARGEST + "\n");
        assertThatThrownBy(() -> file.read(FencingToken.LARGEST - 1)).isInstanceOf(StaleTokenException.class);
        assertThat(read(FencingToken.LARGEST)).isEqualTo("x");
        Files.writeString(fence, "7" + " ".repeat(63));
        assertThat(read(8)).isEqualTo("x");
        Files.writeString(fence, "7" + " ".repeat(64));
        assertThatThrownBy(() -> file.read(9)).isInstanceOf(IOException.class).hasMessageNotContaining("it is empty");
        Files.writeString(fence, "");
        assertThatThrownBy(() -> file.read(9)).isInstanceOf(IOException.class).hasMessageContaining("it is empty");
    }

    @Test
    void manyLinksAreFollowedAndACircleIsRefused() throws IOException {
        Files.writeString(path, "x");
        Path last = path;
        for (int link = 0; link < 40; link++) {
            last = Files.createSymbolicLink(directory.resolve("link" + link), last.getFileName());
        }
        FencedFile.at(last).write(5, "y".getBytes(UTF_8));
        assertThatThrownBy(() -> file.read(4)).isInstanceOf(StaleTokenException.class);
        Path onceMore = Files.createSymbolicLink(directory.resolve("link40"), last.getFileName());
        assertThatThrownBy(() -> FencedFile.at(onceMore)).isInstanceOf(FileSystemLoopException.class);
        Path circle = directory.resolve("circle");
        Files.createSymbolicLink(circle, circle.getFileName());
        assertThatThrownBy(() -> FencedFile.at(circle)).isInstanceOf(FileSystemLoopException.class);
    }

    /**
     * An archive is such a file system: it has neither hard links nor permissions, and its directory cannot be opened.
     */
    @Test
    void aFileSystemWithoutLinksAndPermissionsKeepsTheFenceToo() throws IOException {
        URI archive = URI.create("jar:" + directory.resolve("disk.zip").toUri());
        try (FileSystem without = FileSystems.newFileSystem(archive, Map.of("create", "true"))) {
            Path inside = without.getPath("/balance");
            FencedFile there = FencedFile.at(inside);
            there.write(5, "10".getBytes(UTF_8));
            assertThat(Files.readString(without.getPath("/balance.fence"))).isEqualTo("0000000000000005\n");
            assertThatThrownBy(() -> there.read(4)).isInstanceOf(StaleTokenException.class);
            there.write(6, "11".getBytes(UTF_8));
            assertThat(Files.readString(inside)).isEqualTo("11");
            assertThat(FencedFile.at(inside).read(6)).isPresent();
        }
    }
}
