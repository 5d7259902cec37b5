package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.servers.PortReservation;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that a store that is down is reported in one line, whatever its driver would log, with exit code 69. */
@Tag("full")
class StoreDownTest {

    private static final int CLOSED = PortReservation.forThisJvm();

    @TempDir
    private Path directory;

    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://127.0.0.1:PORT",
                "redis-replicated://127.0.0.1:PORT,localhost:PORT",
                "redis-sentinel://127.0.0.1:PORT/main",
                "redis-cluster://127.0.0.1:PORT",
                "redlock:?node=redis%3A%2F%2F127.0.0.1%3APORT&node=redis%3A%2F%2Flocalhost%3APORT",
                "zk://127.0.0.1:PORT",
                "etcd://127.0.0.1:PORT",
                "jdbc:postgresql://127.0.0.1:PORT/locks?user=app",
            })
    void isOneLine(String uri) {
        StartedCli.Setup cli =
                new StartedCli.Setup(directory).with("LEASEHOLD_STORE", uri.replace("PORT", Integer.toString(CLOSED)));
        for (String words : new String[] {"ls", "run -w 1s job -- touch ran"}) {
            StartedCli started = cli.run(words.split(" "));

            assertThat(started.exitCode()).as(started::err).isEqualTo(ExitCode.STORE_UNAVAILABLE.code());
            assertThat(started.errLines()).singleElement().asString().startsWith("leasehold: ");
            assertThat(started.out()).isEmpty();
        }
        assertThat(directory.resolve("ran")).doesNotExist();
    }
}
