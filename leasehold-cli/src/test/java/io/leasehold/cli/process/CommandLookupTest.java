package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the first line of a script: the forms that the kernel refuses, and those that it accepts. */
@Tag("quick")
class CommandLookupTest {

    @TempDir
    private Path directory;

    private CommandLookup.Result find(byte[] text) throws IOException {
        Path script = Files.write(directory.resolve("script"), text);
        assertThat(script.toFile().setExecutable(true)).isTrue();
        return new CommandLookup(null).find(script.toString());
    }

    private CommandLookup.Result find(String text) throws IOException {
        return find(text.getBytes(StandardCharsets.UTF_8));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "#!/bin/sh\n",
                "#! /bin/sh\n",
                "#!\t/bin/sh  -e \n",
                "#!/bin/sh -e\r\n",
                "plain text\n",
                "#!relative\n"
            })
    void aScriptWhoseInterpreterIsThereIsFound(String text) throws IOException {
        assertThat(find(text)).isInstanceOf(CommandLookup.Result.Found.class);
    }

    @Test
    void anInterpreterThatIsNotThereIsNamed() throws IOException {
        assertThat(find("#!/no/such/thing -x\n"))
                .isInstanceOfSatisfying(
                        CommandLookup.Result.NotFound.class,
                        none -> assertThat(none.reason()).contains("\"/no/such/thing\", which does not exist"));
    }

    /** The kernel searches for a program whose name ends with the carriage return. */
    @Test
    void aCarriageReturnIsAPartOfTheInterpretersName() throws IOException {
        assertThat(find("#!/bin/sh\r\necho\r\n"))
                .isInstanceOfSatisfying(
                        CommandLookup.Result.NotFound.class,
                        none -> assertThat(none.reason())
                                .contains("first line ends with a carriage return", "dos2unix"));
    }

    /** In every locale: if this JVM can encode the name, the lookup finds it; otherwise the start decides. */
    @Test
    void anInterpreterWithAnUmlautIsFound() throws IOException, InterruptedException {
        String made = "d=$(printf 'j\\303\\274rgen'); mkdir \"$d\" && ln -s /bin/sh \"$d/sh\"";
        Process shell = new ProcessBuilder("/bin/sh", "-c", made)
                .directory(directory.toFile())
                .start();
        assertThat(shell.waitFor()).isZero();
        assertThat(find("#!" + directory + "/j\u00fcrgen/sh\n")).isInstanceOf(CommandLookup.Result.Found.class);
    }

    @Test
    void anInterpreterWhoseNameIsNoTextIsLeftToTheStart() throws IOException {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        text.writeBytes("#!/opt/t".getBytes(StandardCharsets.US_ASCII));
        text.write(0xfc);
        text.writeBytes("r/sh\n".getBytes(StandardCharsets.US_ASCII));
        assertThat(find(text.toByteArray())).isInstanceOf(CommandLookup.Result.Found.class);
    }
}
