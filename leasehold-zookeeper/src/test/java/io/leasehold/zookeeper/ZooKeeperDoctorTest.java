package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.admin.Finding;
import io.leasehold.admin.Finding.Grade;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The findings of the doctor about real ensembles, good and bad. */
@Tag("quick")
class ZooKeeperDoctorTest {

    private static Map<String, Finding> diagnosed(String uri) {
        try (LockClient locks = Leasehold.connect(uri)) {
            return locks.admin().diagnose().stream()
                    .collect(Collectors.toMap(Finding::check, finding -> finding, (one, other) -> one));
        }
    }

    @Test
    void staysSilentWhereSessionsFit() throws Exception {
        try (TestingServer server = Ensemble.single()) {
            Map<String, Finding> findings = diagnosed(Ensemble.uri(server.getConnectString(), ""));
            assertThat(findings.get("session").grade()).as(findings.toString()).isEqualTo(Grade.GOOD);
            assertThat(findings.get("tick").grade()).as(findings.toString()).isEqualTo(Grade.GOOD);
            assertThat(findings.get("rights").grade()).as(findings.toString()).isEqualTo(Grade.GOOD);
        }
    }

    @Test
    void saysThatASessionIsCutShort() throws Exception {
        try (TestingServer server = Ensemble.single()) {
            // Longer than the ensemble's largest timeout: the ensemble grants less than the requested one.
            Map<String, Finding> findings = diagnosed(Ensemble.uri(server.getConnectString(), "&sessionTimeout=1200m"));
            assertThat(findings.get("session").grade()).as(findings.toString()).isEqualTo(Grade.WARNING);
            assertThat(findings.get("session").remedy()).contains("maxSessionTimeout=72000000");
        }
    }

    @Test
    void saysThatATickIsTooCoarse(@TempDir Path directory) {
        try (Member slow = new Member(directory, 10_000)) {
            Map<String, Finding> findings = diagnosed(slow.uri(""));
            assertThat(findings.get("tick").grade()).as(findings.toString()).isEqualTo(Grade.WARNING);
            assertThat(findings.get("tick").reason()).contains("10000 ms");
        }
    }

    @Test
    void saysThatASessionIsMadeLonger(@TempDir Path directory) {
        try (Member member = new Member(directory)) {
            member.leastSession(600_000);
            Map<String, Finding> findings = diagnosed(member.uri(""));
            assertThat(findings.get("session").grade()).as(findings.toString()).isEqualTo(Grade.WARNING);
            assertThat(findings.get("session").remedy()).contains("minSessionTimeout=");
        }
    }
}
