package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.admin.Finding;
import io.leasehold.admin.Finding.Grade;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The findings of the doctor about the session that an ensemble granted, and about its tick. */
@Tag("quick")
class ZooKeeperOperationsTest {

    @Test
    void aSessionIsAsLongAsItWasAskedFor() {
        assertThat(ZooKeeperOperations.session("e", 42_000, 42_000).grade()).isEqualTo(Grade.GOOD);
        Finding shorter = ZooKeeperOperations.session("e", 42_000, 41_999);
        assertThat(shorter.grade()).isEqualTo(Grade.WARNING);
        assertThat(shorter.reason()).contains("grants a session of 41999 ms").contains("needs 42000");
        assertThat(shorter.remedy()).contains("maxSessionTimeout=42000");
        Finding longer = ZooKeeperOperations.session("e", 42_000, 42_001);
        assertThat(longer.grade()).isEqualTo(Grade.WARNING);
        assertThat(longer.reason()).contains("makes 42000 ms a session of 42001 ms");
        assertThat(longer.remedy()).contains("minSessionTimeout=42000");
    }

    @Test
    void aTickIsAtMostASixthOfASession() {
        assertThat(ZooKeeperOperations.tick("e", 42_000, 7_000).grade()).isEqualTo(Grade.GOOD);
        Finding coarse = ZooKeeperOperations.tick("e", 42_000, 7_001);
        assertThat(coarse.grade()).isEqualTo(Grade.WARNING);
        assertThat(coarse.check()).isEqualTo("tick");
        assertThat(coarse.reason()).contains("7001 ms").contains("42000");
    }
}
