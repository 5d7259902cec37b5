package io.leasehold.verify.variants;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that the broken variants follow the sources: hunting all of them takes too long for each change. */
@Tag("quick")
class VariantRulesTest {

    @Test
    void eachRuleStandsOnceInItsSource() throws IOException {
        Path project = Path.of("").toAbsolutePath().getParent();
        List<String> stale = new ArrayList<>();
        for (Variant variant : VariantsCommand.all()) {
            String source = Files.readString(VariantsCommand.sourceOf(variant, project));
            try {
                assertThat(variant.applyTo(source)).as(variant.name()).isNotEqualTo(source);
            } catch (IllegalStateException e) {
                stale.add(e.getMessage());
            }
        }
        assertThat(stale).isEmpty();
    }

    @Test
    void eachVariantHasANameOfItsOwn() {
        assertThat(VariantsCommand.all()).extracting(Variant::name).doesNotHaveDuplicates();
    }
}
