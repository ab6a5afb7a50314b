//! Names of files that a browser asks for when it shows a site: pages, what they load, and documents. Any other name
//! with an extension is taken for a source, a setting, a key, a log, a copy or a database, none of which is meant to be
//! published.

const EXTENSIONS: &str = "3gp aac apng appcache asc atom avi avif bmp css csv cur doc docx eot epub flac geojson gif \
    glb gltf heic heif htm html ico ics jfif jpe jpeg jpg js json jsonld jxl m3u8 m4a m4s m4v manifest map md mid \
    mjs mkv mov mp3 mp4 mpd mpeg mpg mtl obj odp ods odt oga ogg ogv opus otf pdf pmtiles png ppt pptx rss rtf svg \
    svgz tif tiff topojson tsv ttf txt vcf vtt wasm wav weba webm webmanifest webp woff woff2 xhtml xls xlsx xml xsl \
    xslt";

/// Names that tools write beside a site, with extensions that browsers ask for.
const TOOLS: [&str; 4] = ["package.json", "package-lock.json", "tsconfig.json", "credentials.json"];

/// The names of tools, and of copies, as a pattern.
pub(super) fn private_names() -> String {
    let tools = TOOLS.join("|").replace('.', "\\.");
    format!("~(?i)(/(composer\\.[^/]*|{tools})|~)$")
}

/// Names with an extension that is not public, as patterns.
pub(super) fn unknown_names() -> [String; 2] {
    ["~\\.[^/.]*$".to_owned(), format!("!~(?i)\\.({})$", EXTENSIONS.replace(' ', "|"))]
}

/// Whether a file of this name is not served.
pub(crate) fn is_private(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_public = |extension: &str| EXTENSIONS.split(' ').any(|known| known == extension);
    name.rsplit_once('.').is_some_and(|(_, extension)| !is_public(extension))
        || TOOLS.contains(&&*name)
        || name.starts_with("composer.")
        || name.ends_with('~')
}
