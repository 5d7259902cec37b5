package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.admin.Finding;
import io.leasehold.admin.Finding.Grade;
import io.leasehold.servers.RedisServer;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the doctor's findings about a set of nodes. */
@Tag("quick")
class RedlockDoctorTest {

    private static List<Finding> diagnosed(RedisServer... servers) {
        StringBuilder uri = new StringBuilder("redlock:?maxTtl=30s");
        for (RedisServer server : servers) {
            uri.append("&node=").append(URLEncoder.encode(server.uri(), StandardCharsets.UTF_8));
        }
        try (LockClient locks = Leasehold.connect(uri.toString())) {
            return locks.admin().diagnose();
        }
    }

    private static Finding of(List<Finding> findings, String check, String part) {
        return findings.stream()
                .filter(finding ->
                        finding.check().equals(check) && finding.reason().contains(part))
                .findFirst()
                .orElseThrow(() -> new AssertionError(check + " " + part + " in " + findings));
    }

    @Test
    void looksAtEveryNodeAndAtTheSet() {
        try (RedisServer one = RedisServer.start();
                RedisServer two =
                        RedisServer.builder().maxMemory("100mb", "allkeys-lru").start();
                RedisServer three = RedisServer.start()) {
            List<Finding> findings = diagnosed(one, two, three);
            assertThat(of(findings, "independence", "share a host").grade()).isEqualTo(Grade.WARNING);
            assertThat(of(findings, "clock", "clocks of the nodes agree").grade())
                    .isEqualTo(Grade.GOOD);
            assertThat(of(findings, "eviction", Integer.toString(two.port())).grade())
                    .isEqualTo(Grade.UNSAFE);
            assertThat(of(findings, "eviction", Integer.toString(one.port())).grade())
                    .isEqualTo(Grade.GOOD);
            assertThat(of(findings, "restart", "quarantine").grade()).isEqualTo(Grade.WARNING);
            assertThat(of(findings, "persistence", "quarantine").grade()).isEqualTo(Grade.GOOD);
            assertThat(of(findings, "life", "the run id that it reported on each connection")
                            .grade())
                    .isEqualTo(Grade.GOOD);
        }
    }
}
