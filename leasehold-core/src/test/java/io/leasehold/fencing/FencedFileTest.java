package io.leasehold.fencing;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("quick")
class FencedFileTest {

    @TempDir
    private Path directory;

    private final List<Admission> answers = new ArrayList<>();
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

    /** The holder that was stopped between its reading and its writing: the case that tokens are for. */
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

    @Test
    void refusesWhatIsNoFile() {
        assertThatIllegalArgumentException().isThrownBy(() -> FencedFile.at(Path.of("/")));
        assertThatThrownBy(() -> FencedFile.at(directory.resolve("missing").resolve("file")))
                .isInstanceOf(IOException.class);
    }

    /** Each round is a holder with a token of its own that reads, adds one, and writes; every admitted addition counts. */
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
                            // Somebody newer was there.
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
}
