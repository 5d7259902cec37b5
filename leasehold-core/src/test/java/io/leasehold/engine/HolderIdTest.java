package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The name of this host. */
@Tag("quick")
final class HolderIdTest {

    @Test
    void isTheOneThatTheKernelTells() throws Exception {
        assumeTrue(Files.exists(Path.of("/proc/sys/kernel/hostname")), "this system has no /proc/sys/kernel/hostname");
        Process uname = new ProcessBuilder("uname", "-n").start();

        assertThat(HolderId.known())
                .isEqualTo(new String(uname.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip());
    }
}
