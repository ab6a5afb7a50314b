package corral;

import org.apache.catalina.Container;
import org.apache.catalina.Wrapper;
import org.apache.catalina.core.StandardContext;

/** A web application whose own servlets replace Tomcat's of the same name ({@code default}, {@code jsp}), as they do below Tomcat's web.xml. */
public final class WebContext extends StandardContext {
    @Override
    public void addChild(Container child) {
        Wrapper replaced = (Wrapper) findChild(child.getName());
        if (replaced == null || !replaced.isOverridable()) {
            super.addChild(child);
            return;
        }
        String[] mappings = replaced.findMappings();
        removeChild(replaced);
        super.addChild(child);
        for (String mapping : mappings) {
            addServletMappingDecoded(mapping, child.getName());
        }
    }
}
