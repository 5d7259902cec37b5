package io.leasehold.checks;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** The compiled production code, as input of the rules. */
final class ProductionClasses {

    private ProductionClasses() {}

    static JavaClasses ofAll() {
        return of(Module.values());
    }

    static JavaClasses of(Module... modules) {
        List<Path> folders = Arrays.stream(modules)
                .filter(Module::hasSources)
                .map(Module::classes)
                .toList();
        return new ClassFileImporter().importPaths(folders);
    }
}
