package io.leasehold.cli.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Failure;
import io.leasehold.cli.process.CommandLookup;
import io.leasehold.cli.process.CommandLookup.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the exit codes for the words in which several versions of Java refuse a start. */
@Tag("quick")
class StartFailureTest {

    private static final Result FOUND = new Result.Found(Path.of("/bin/job"));

    private static Failure failure(String said, Result now) {
        return failure(said, now, false);
    }

    private static Failure failure(String said, Result now, boolean helperMissing) {
        return StartFailure.of(new IOException(said), now, helperMissing);
    }

    /** The words of Java 17 and of Java 25, for a helper of another version and for none. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "Cannot run program \"/bin/job\": error=0, Failed to exec spawn helper: pid: 1, exit value: 1",
                "Cannot run program \"/bin/job\": error=2, No such file or directory",
                "Cannot run program \"/bin/job\": Failed to exec spawn helper: pid: 1, exit code: 1, error: 0 (none) \nX",
                "Cannot run program \"/bin/job\": posix_spawn failed, error: 2 (No such file or directory) \nX"
            })
    void aJavaThatCannotStartProgramsIsNoFaultOfTheCommand(String said) {
        // Without the helper, Java 17 says the same as about a command without its interpreter.
        Failure failure = failure(said, FOUND, said.contains("error=2,"));
        assertThat(failure.code()).isEqualTo(ExitCode.INTERNAL);
        assertThat(failure.reason())
                .startsWith("Java cannot start programs any more, as after an upgrade of Java")
                .contains("/bin/job")
                .doesNotContain("\n");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Cannot run program \"/bin/job\": error=2, No such file or directory",
                "Cannot run program \"/bin/job\": Exec failed, error: 2 (No such file or directory) "
            })
    void aCommandThatHasVanishedIsNotFound(String said) {
        Failure failure = failure(said, new Result.NotFound("it was not found"));
        assertThat(failure).isEqualTo(new Failure(ExitCode.NOT_FOUND, "it was not found"));
        assertThat(failure(said, new Result.Unspeakable()).code())
                .as("a name that cannot be looked up")
                .isEqualTo(ExitCode.NOT_FOUND);
    }

    /** Its loader or interpreter is missing, as for a program of another C library: the words of Java 17 and of Java 25. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "Cannot run program \"/bin/job\": error=2, No such file or directory | false",
                "Cannot run program \"/bin/job\": Exec failed, error: 2 (No such file or directory) | false",
                "Cannot run program \"/bin/job\": Exec failed, error: 2 (No such file or directory) | true"
            })
    void aCommandWithoutItsLoaderIsNotFound(String said, boolean helperMissing) {
        assertThat(failure(said, FOUND, helperMissing))
                .isEqualTo(new Failure(ExitCode.NOT_FOUND, "the command cannot be started: " + said));
    }

    /** The lookup does not check an interpreter that depends on the working directory. */
    @Test
    void aScriptWithoutItsInterpreterIsNotFound(@TempDir Path directory) throws IOException {
        Path script = Files.writeString(directory.resolve("job"), "#!no-such-interpreter\n");
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));
        Result now = new CommandLookup(null).find(script.toString());
        assertThat(now).isInstanceOf(Result.Found.class);

        assertThatThrownBy(() -> new ProcessBuilder(script.toString()).start())
                .isInstanceOfSatisfying(
                        IOException.class,
                        refused ->
                                assertThat(StartFailure.of(refused, now).code()).isEqualTo(ExitCode.NOT_FOUND));
    }

    @Test
    void anExitCodeIsTheCommandsUnlessTheCommandHasVanished() {
        Result gone = new Result.NotFound("it was not found");
        Result refused = new Result.NotExecutable("it is a directory");
        assertThat(StartFailure.behind(127, gone)).isEqualTo(new Failure(ExitCode.NOT_FOUND, "it was not found"));
        assertThat(StartFailure.behind(126, refused))
                .isEqualTo(new Failure(ExitCode.NOT_EXECUTABLE, "it is a directory"));
        assertThat(StartFailure.behind(127, FOUND)).isNull();
        assertThat(StartFailure.behind(126, gone)).isNull();
        assertThat(StartFailure.behind(0, gone))
                .as("a script that removes itself")
                .isNull();
    }

    @Test
    void anotherRefusalConcernsTheCommand() {
        String said = "Cannot run program \"/bin/job\": error=7, Argument list too long";
        assertThat(failure(said, FOUND))
                .isEqualTo(new Failure(ExitCode.NOT_EXECUTABLE, "the command cannot be started: " + said));
        assertThat(failure(said, new Result.NotExecutable("a directory")))
                .isEqualTo(new Failure(ExitCode.NOT_EXECUTABLE, "a directory"));
    }
}
