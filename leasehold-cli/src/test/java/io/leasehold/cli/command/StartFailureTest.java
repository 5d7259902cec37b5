package io.leasehold.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Failure;
import io.leasehold.cli.process.CommandLookup.Result;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the exit codes for the words in which several versions of Java refuse a start. */
@Tag("quick")
class StartFailureTest {

    private static final Result FOUND = new Result.Found(Path.of("/bin/job"));

    private static Failure failure(String said, Result now) {
        return StartFailure.of(new IOException(said), now);
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
        Failure failure = failure(said, FOUND);
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
